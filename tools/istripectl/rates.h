/* SPDX-License-Identifier: GPL-2.0 */
/* What happens in an interval, from the counters at its beginning and at its end. */
#ifndef ISTRIPECTL_RATES_H
#define ISTRIPECTL_RATES_H

#include "live.h"

/* Added to the files of a connection: segments that TCP has sent again, as it says itself. */
#define RATES_RETRANSMITS	"tcp_retransmits"

/* Of one leg, path or connection, or of the whole volume; RATE_NONE: there is no such counter. */
struct rates {
	double read_bytes, write_bytes;	/* per second */
	double iops;
	double latency_ms;		/* mean, of the commands that ended in the interval */
	double queue;			/* commands in flight at its end */
	double retries, reconnects;	/* in the interval */
	double retransmits;		/* in the interval: TCP segments */
	double ping_us;			/* the last one */
};

#define RATE_NONE	(-1.0)

/**
 * rates_of_volume() - of the whole disk
 * @before: the volume's files at the beginning
 * @after: and at the end
 * @stat_before: the file stat of the disk at the beginning
 * @stat_after: and at the end
 * @seconds: between them
 * @rates: set
 */
void rates_of_volume(const struct live *before, const struct live *after, const char *stat_before,
		     const char *stat_after, double seconds, struct rates *rates);

/**
 * rates_of_leg() - of a leg
 * @before: the leg at the beginning; NULL: it was not there
 * @after: and at the end
 * @seconds: between them
 * @rates: set
 */
void rates_of_leg(const struct live *before, const struct live *after, double seconds,
		  struct rates *rates);

/**
 * rates_of_path() - of a path
 * @before: the path at the beginning; NULL: it was not there
 * @after: and at the end
 * @seconds: between them
 * @rates: set
 */
void rates_of_path(const struct live *before, const struct live *after, double seconds,
		   struct rates *rates);

/**
 * rates_of_only_connection() - add what holds for a path of one connection and for that
 * @path: of the path
 * @connection: of the connection; latency and retries are set
 */
void rates_of_only_connection(const struct rates *path, struct rates *connection);

/**
 * rates_of_connection() - of a connection
 * @before: the connection at the beginning; NULL: it was not there
 * @after: and at the end
 * @seconds: between them
 * @rates: set
 */
void rates_of_connection(const struct live *before, const struct live *after, double seconds,
			 struct rates *rates);

#endif
