// SPDX-License-Identifier: GPL-2.0
/*
 * The listener of a volume's announcements. It compares all states with those that it has told
 * last, paths first, then their leg, then the volume: the order of events is that of cause and
 * effect. A change that is taken back before it is seen is not told, with two exceptions: a path
 * that was lost and is live again has both events, and files of sessions and connections go by a
 * count of changes.
 */
#include <linux/device.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <istripe/reason.h>
#include "block/fence.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/outage_report.h"
#include "block/path.h"
#include "block/volume.h"
#include "control/events.h"
#include "control/setting.h"
#include "control/sysfs_dir.h"
#include "iscsi/error.h"
#include "transport/socket.h"

#define PORTAL_BYTES	(INET6_ADDRSTRLEN + 32)	/* with scope and port */

/* Paths are told of when this changes, not at each attempt to log in. */
enum path_class {
	PATH_LIVE,
	PATH_DEGRADED,
	PATH_FAILED,
	PATH_REFUSED,
	PATH_DEAD,
};

static const char *const path_actions[] = {
	[PATH_LIVE] = "PATH_REINSTATED",
	[PATH_DEGRADED] = "PATH_DEGRADED",
	[PATH_FAILED] = "PATH_FAILED",
	[PATH_REFUSED] = "PATH_FAILED",
	[PATH_DEAD] = "PATH_FAILED",
};

static const char *const leg_actions[] = {
	[ISTRIPE_LEG_LIVE] = "LEG_LIVE",
	[ISTRIPE_LEG_DEGRADED] = "LEG_DEGRADED",
	[ISTRIPE_LEG_WAITING] = "LEG_WAITING",
	[ISTRIPE_LEG_FAILED] = "LEG_FAILED",
};

static const char *const volume_actions[] = {
	[ISTRIPE_LEG_LIVE] = "VOLUME_LIVE",
	[ISTRIPE_LEG_DEGRADED] = "VOLUME_DEGRADED",
	[ISTRIPE_LEG_WAITING] = "VOLUME_WAITING",
	[ISTRIPE_LEG_FAILED] = "VOLUME_FAILED",
};

/* The changing parts of a path, as they are. */
struct path_now {
	u32 state;
	enum path_class class;
	u64 reconnects;
	u32 live_paths;			/* of its leg */
	u32 writes;			/* that wait for a fence */
	bool unfenced;			/* some of them have failed without one */
	u32 waiting_ms;
	struct istripe_access access;
};

struct path_told {
	bool known;			/* there is such a path */
	bool fresh;			/* its files may have been read before */
	struct kobject *kobj;		/* NULL: it has no directory */
	u32 state;			/* of the file */
	enum path_class class;
	u64 reconnects;
	u32 writes;			/* of the file */
	bool waiting;			/* writes were told to wait */
	struct istripe_access access;
	u32 changes[ISTRIPE_CONNECTIONS_MAX];	/* of its nexuses */
};

struct leg_told {
	struct kobject *kobj;
	enum istripe_leg_state state;
	bool overlays;
	struct path_told paths[ISTRIPE_PATHS_MAX];
};

struct istripe_events {
	struct istripe_volume *volume;
	struct kobject *kobj;
	struct mutex lock;		/* all below; never held while a directory is removed */
	bool started;
	bool fresh;			/* the files of legs and volume may have been read before */
	bool failed;			/* an event could not be sent: again, later */
	enum istripe_leg_state state;
	struct kobj_uevent_env event;	/* that is being made */
	struct leg_told legs[];
};

/* One uevent */

static struct kobj_uevent_env *event_begin(struct istripe_events *events, const char *action)
{
	struct kobj_uevent_env *event = &events->event;

	lockdep_assert_held(&events->lock);
	memset(event, 0, sizeof(*event));
	add_uevent_var(event, "ISTRIPE_ACTION=%s", action);
	add_uevent_var(event, "ISTRIPE_VOLUME=%s", events->volume->name);
	add_uevent_var(event, "ISTRIPE_DEVICE=%s", events->volume->disk->disk_name);
	return event;
}

/* False: it is to be sent again. */
static bool event_end(struct istripe_events *events)
{
	struct kobj_uevent_env *event = &events->event;
	int i, ret;

	for (i = 0; i < event->envp_idx; i++)
		strreplace(event->envp[i], '\n', ' ');
	ret = kobject_uevent_env(&events->volume->device->kobj, KOBJ_CHANGE, event->envp);
	if (!ret)
		return true;
	pr_warn_ratelimited("%s: a uevent (%s) is not sent: %s (%pe)\n", events->volume->name,
			    event->envp[0], istripe_error_words(ret), ERR_PTR(ret));
	events->failed = true;
	return false;
}

static void notify(struct kobject *kobj, const char *file)
{
	if (kobj)
		sysfs_notify(kobj, NULL, file);
}

/* A path */

static struct path_told *path_told(struct istripe_events *events, const struct istripe_path *path)
{
	lockdep_assert_held(&events->lock);
	return &events->legs[path->leg->index].paths[path->index];
}

/* An attempt to log in, and a path that is being taken out, are no news. */
static enum path_class path_classify(const struct istripe_path *path, u32 state,
				     enum path_class before)
{
	if (!READ_ONCE(path->nexuses[0]->wanted))
		return before;
	switch (state) {
	case ISTRIPE_NEXUS_LIVE:
		return PATH_LIVE;
	case ISTRIPE_PATH_DEGRADED:
		return PATH_DEGRADED;
	case ISTRIPE_NEXUS_REFUSED:
		return PATH_REFUSED;
	case ISTRIPE_NEXUS_DEAD:
		return PATH_DEAD;
	case ISTRIPE_NEXUS_CONNECTING:
		return before > PATH_FAILED ? before : PATH_FAILED;
	default:
		return PATH_FAILED;
	}
}

/* In a section of leg->srcu. By the states of the paths, which change before leg->live_paths. */
static u32 leg_live_paths(const struct istripe_leg *leg)
{
	const struct istripe_path *path;
	u32 live = 0;

	istripe_leg_for_each_path(leg, path)
		live += istripe_path_state(path) == ISTRIPE_NEXUS_LIVE ||
			istripe_path_state(path) == ISTRIPE_PATH_DEGRADED;
	return live;
}

/* The state before the number: a path that is lost in between was live, and is told as lost. */
static void path_ask(const struct istripe_path *path, const struct path_told *told,
		     struct path_now *now)
{
	const struct istripe_nexus *nexus;
	struct istripe_leg *leg = path->leg;

	*now = (struct path_now) { .state = istripe_path_state(path) };
	now->class = path_classify(path, now->state, told->class);
	/* Pairs with nexus_set_state(). */
	smp_rmb();
	now->live_paths = leg_live_paths(leg);
	spin_lock_bh(&leg->lock);
	now->reconnects = istripe_path_reconnects(path);
	now->access = path->nexuses[0]->access;
	istripe_path_for_each_nexus(path, nexus) {
		now->writes += istripe_leg_nexus_waiting_writes(nexus);
		now->unfenced |= nexus->unfenced || nexus->wait_failed ||
				 (leg->failed && nexus->ghosts.count);
		now->waiting_ms = max(now->waiting_ms, istripe_ghosts_waiting_ms(nexus));
	}
	spin_unlock_bh(&leg->lock);
}

static struct kobj_uevent_env *path_event_begin(struct istripe_events *events,
						const struct istripe_path *path,
						const char *action, const char *state,
						const struct path_now *now)
{
	struct kobj_uevent_env *event = event_begin(events, action);
	char portal[PORTAL_BYTES], nic[IFNAMSIZ];

	istripe_params_read(nic, path->params.nic, sizeof(nic));
	istripe_setting_portal.format(NULL, &path->params.portal, portal, sizeof(portal));
	add_uevent_var(event, "ISTRIPE_LEG=%u", path->leg->index);
	add_uevent_var(event, "ISTRIPE_PATH=%u", path->index);
	add_uevent_var(event, "ISTRIPE_STATE=%s", state);
	add_uevent_var(event, "ISTRIPE_LIVE_PATHS=%u", now->live_paths);
	add_uevent_var(event, "ISTRIPE_PORTAL=%s", portal);
	add_uevent_var(event, "ISTRIPE_NIC=%s", nic);
	if (now->access.known)
		add_uevent_var(event, "ISTRIPE_ACCESS_STATE=%s",
			       istripe_alua_state_name(now->access.state));
	return event;
}

static bool path_send(struct istripe_events *events, const struct istripe_path *path,
		      const char *action, const struct path_now *now)
{
	path_event_begin(events, path, action, istripe_path_state_name(now->state), now);
	return event_end(events);
}

static bool path_send_lost(struct istripe_events *events, const struct istripe_path *path,
			   const char *action, const char *state, const struct path_now *now)
{
	struct kobj_uevent_env *event = path_event_begin(events, path, action, state, now);
	struct istripe_reason why;

	istripe_path_last_error(path, &why);
	add_uevent_var(event, "ISTRIPE_REASON=%s", why.text);
	return event_end(events);
}

static bool path_send_waiting(struct istripe_events *events, const struct istripe_path *path,
			      const struct path_now *now)
{
	struct kobj_uevent_env *event = path_event_begin(events, path, "WRITES_WAITING",
							 istripe_path_state_name(now->state), now);
	struct istripe_reason why;
	const struct istripe_nexus *nexus;

	istripe_path_for_each_nexus(path, nexus)
		if (istripe_fence_why_waiting(nexus, &why))
			break;
	add_uevent_var(event, "ISTRIPE_WAITING_WRITES=%u", now->writes);
	add_uevent_var(event, "ISTRIPE_WAITING_MS=%u", now->waiting_ms);
	add_uevent_var(event, "ISTRIPE_REASON=until %s", why.text);
	return event_end(events);
}

/* Lost, and live again. */
static bool path_send_both(struct istripe_events *events, const struct istripe_path *path,
			   const struct path_now *now)
{
	/* Of a session with several connections the other nexuses are reserves. */
	bool several = path->nexuses[1] && READ_ONCE(path->nexuses[1]->wanted);

	return path_send_lost(events, path,
			      path_actions[several ? PATH_DEGRADED : PATH_FAILED],
			      istripe_path_state_name(several ? ISTRIPE_PATH_DEGRADED :
							       ISTRIPE_NEXUS_BACKOFF), now) &&
	       path_send(events, path, path_actions[PATH_LIVE], now);
}

static bool path_tell_class(struct istripe_events *events, const struct istripe_path *path,
			    const struct path_told *told, const struct path_now *now)
{
	if (now->class == told->class && now->class == PATH_LIVE &&
	    now->reconnects > told->reconnects)
		return path_send_both(events, path, now);
	if (now->class == told->class)
		return true;
	if (now->class == PATH_LIVE)
		return path_send(events, path, path_actions[PATH_LIVE], now);
	return path_send_lost(events, path, path_actions[now->class],
			      istripe_path_state_name(now->state), now);
}

static void path_tell_access(struct istripe_events *events, const struct istripe_path *path,
			     struct path_told *told, const struct path_now *now)
{
	const struct istripe_access *before = &told->access, *after = &now->access;

	if (before->known == after->known && before->state == after->state)
		return;
	notify(told->kobj, "access_state");
	/* The first login of a path is no change. */
	if (!before->known || path_send(events, path, "PATH_ACCESS", now))
		told->access = *after;
}

static void path_tell_writes(struct istripe_events *events, const struct istripe_path *path,
			     struct path_told *told, const struct path_now *now)
{
	bool sent = true;

	if (now->writes != told->writes)
		notify(told->kobj, "waiting_writes");
	told->writes = now->writes;
	if (told->waiting == !!now->writes)
		return;
	if (now->writes)
		sent = path_send_waiting(events, path, now);
	else
		sent = path_send(events, path, now->unfenced ? "WRITES_FAILED" : "WRITES_RESUMED",
				 now);
	if (sent)
		told->waiting = now->writes;
}

/* Their files only: they have no uevents. */
static void path_tell_sessions(const struct istripe_path *path, struct path_told *told)
{
	const struct istripe_nexus *nexus;
	u32 changes;

	istripe_path_for_each_nexus(path, nexus) {
		/* Pairs with nexus_changed(). */
		changes = smp_load_acquire(&nexus->changes);
		if (told->kobj && (told->fresh || changes != told->changes[nexus->index]))
			istripe_sysfs_session_notify(told->kobj, nexus);
		told->changes[nexus->index] = changes;
	}
}

static void path_tell(struct istripe_events *events, const struct istripe_path *path)
{
	struct path_told *told = path_told(events, path);
	struct path_now now;

	if (!told->known)
		return;
	path_ask(path, told, &now);
	if (now.state != told->state || now.reconnects != told->reconnects || told->fresh)
		notify(told->kobj, "state");
	path_tell_sessions(path, told);
	told->state = now.state;
	told->fresh = false;
	if (path_tell_class(events, path, told, &now)) {
		told->class = now.class;
		told->reconnects = now.reconnects;
	}
	path_tell_access(events, path, told, &now);
	path_tell_writes(events, path, told, &now);
}

/* Legs and the volume */

/* Of istripe_outage_report_why(), else the error of the first path that is not live. */
static void leg_add_reason(struct kobj_uevent_env *event, struct istripe_leg *leg)
{
	const struct istripe_path *path;
	struct istripe_reason why;

	lockdep_assert(srcu_read_lock_held(&leg->srcu));
	istripe_outage_report_why(leg, &why);
	if (why.text[0]) {
		add_uevent_var(event, "ISTRIPE_REASON=%s", why.text);
		return;
	}
	istripe_leg_for_each_path(leg, path) {
		if (istripe_path_state(path) == ISTRIPE_NEXUS_LIVE)
			continue;
		istripe_path_last_error(path, &why);
		add_uevent_var(event, "ISTRIPE_REASON=%s", why.text);
		return;
	}
}

static struct kobj_uevent_env *leg_event_begin(struct istripe_events *events,
					       const struct istripe_leg *leg, const char *action,
					       enum istripe_leg_state state)
{
	struct kobj_uevent_env *event = event_begin(events, action);

	add_uevent_var(event, "ISTRIPE_LEG=%u", leg->index);
	add_uevent_var(event, "ISTRIPE_STATE=%s", istripe_leg_state_names[state]);
	add_uevent_var(event, "ISTRIPE_LIVE_PATHS=%u", leg_live_paths(leg));
	return event;
}

static void leg_tell_overlays(struct istripe_events *events, const struct istripe_leg *leg,
			      enum istripe_leg_state state)
{
	struct leg_told *told = &events->legs[leg->index];
	bool overlays = READ_ONCE(leg->overlays.count);
	struct kobj_uevent_env *event;

	if (overlays == told->overlays)
		return;
	notify(told->kobj, "overlay_bytes");
	event = leg_event_begin(events, leg, overlays ? "OVERLAYS_KEPT" : "OVERLAYS_WRITTEN",
				state);
	if (overlays)
		add_uevent_var(event, "ISTRIPE_REASON=%s",
			       "newer data of blocks of lost writes are in this host's memory: do not reset it, and let no other host write to this LUN, until OVERLAYS_WRITTEN");
	if (event_end(events))
		told->overlays = overlays;
}

static void leg_tell_state(struct istripe_events *events, struct istripe_leg *leg,
			   enum istripe_leg_state state)
{
	struct leg_told *told = &events->legs[leg->index];
	struct kobj_uevent_env *event;

	if (state != told->state || events->fresh)
		notify(told->kobj, "state");
	if (state == told->state)
		return;
	event = leg_event_begin(events, leg, leg_actions[state], state);
	if (state != ISTRIPE_LEG_LIVE)
		leg_add_reason(event, leg);
	if (event_end(events))
		told->state = state;
}

/* The leg's state is that before its paths are asked: it never changes ahead of them. */
static enum istripe_leg_state leg_tell(struct istripe_events *events, struct istripe_leg *leg)
{
	enum istripe_leg_state state = istripe_leg_state(leg);
	int section = srcu_read_lock(&leg->srcu);
	const struct istripe_path *path;

	istripe_leg_for_each_path(leg, path)
		path_tell(events, path);
	leg_tell_overlays(events, leg, state);
	leg_tell_state(events, leg, state);
	srcu_read_unlock(&leg->srcu, section);
	return state;
}

static void volume_add_reason(struct istripe_events *events, struct kobj_uevent_env *event,
			      enum istripe_leg_state state)
{
	struct istripe_leg *leg;
	int section;
	u32 i;

	for (i = 0; i < events->volume->leg_count; i++) {
		if (events->legs[i].state != state)
			continue;
		leg = events->volume->legs[i];
		section = srcu_read_lock(&leg->srcu);
		leg_add_reason(event, leg);
		srcu_read_unlock(&leg->srcu, section);
		return;
	}
}

static void volume_tell(struct istripe_events *events, enum istripe_leg_state state)
{
	struct kobj_uevent_env *event;

	if (state != events->state || events->fresh)
		notify(events->kobj, "state");
	if (state == events->state)
		return;
	event = event_begin(events, volume_actions[state]);
	add_uevent_var(event, "ISTRIPE_STATE=%s", istripe_leg_state_names[state]);
	if (state != ISTRIPE_LEG_LIVE)
		volume_add_reason(events, event, state);
	if (event_end(events))
		events->state = state;
}

static void events_listen(void *data)
{
	enum istripe_leg_state state = ISTRIPE_LEG_LIVE;
	struct istripe_events *events = data;
	u32 i;

	mutex_lock(&events->lock);
	events->failed = false;
	for (i = 0; i < events->volume->leg_count; i++)
		state = max(state, leg_tell(events, events->volume->legs[i]));
	volume_tell(events, state);
	events->fresh = false;
	if (events->failed)
		istripe_announce(&events->volume->announce);
	mutex_unlock(&events->lock);
}

struct istripe_events *istripe_events_create(struct istripe_volume *volume, struct kobject *kobj)
{
	struct istripe_events *events = kvzalloc(struct_size(events, legs, volume->leg_count),
						 GFP_KERNEL);

	if (!events)
		return NULL;
	events->volume = volume;
	events->kobj = kobj;
	mutex_init(&events->lock);
	return events;
}

void istripe_events_stop(struct istripe_events *events)
{
	if (!events)
		return;
	istripe_announce_listen(&events->volume->announce, NULL, NULL);
	mutex_lock(&events->lock);
	events->started = false;
	mutex_unlock(&events->lock);
}

void istripe_events_destroy(struct istripe_events *events)
{
	kvfree(events);
}

void istripe_events_add_leg(struct istripe_events *events, u32 leg, struct kobject *kobj)
{
	events->legs[leg].kobj = kobj;
}

/* Its worker may be at it: what changes from now on is told. */
void istripe_events_add_path(struct istripe_events *events, const struct istripe_path *path,
			     struct kobject *kobj)
{
	unsigned int noio = memalloc_noio_save();
	struct path_told *told;
	struct path_now now;
	int section;

	mutex_lock(&events->lock);
	section = srcu_read_lock(&path->leg->srcu);
	told = path_told(events, path);
	*told = (struct path_told) { .known = true, .fresh = true, .kobj = kobj };
	path_ask(path, told, &now);
	told->state = now.state;
	told->reconnects = now.reconnects;
	told->access = now.access;
	if (events->started)
		path_send(events, path, "PATH_ADDED", &now);
	srcu_read_unlock(&path->leg->srcu, section);
	mutex_unlock(&events->lock);
	memalloc_noio_restore(noio);
	istripe_announce(&events->volume->announce);
}

void istripe_events_remove_path(struct istripe_events *events, const struct istripe_path *path)
{
	unsigned int noio;
	struct path_told *told;
	struct path_now now;

	if (!events)
		return;
	noio = memalloc_noio_save();
	mutex_lock(&events->lock);
	told = path_told(events, path);
	if (told->known && events->started) {
		int section = srcu_read_lock(&path->leg->srcu);

		path_ask(path, told, &now);
		path_send(events, path, "PATH_REMOVED", &now);
		srcu_read_unlock(&path->leg->srcu, section);
	}
	*told = (struct path_told) {};
	mutex_unlock(&events->lock);
	memalloc_noio_restore(noio);
}

void istripe_events_start(struct istripe_events *events)
{
	mutex_lock(&events->lock);
	events->started = true;
	events->fresh = true;
	mutex_unlock(&events->lock);
	istripe_announce_listen(&events->volume->announce, events_listen, events);
}
