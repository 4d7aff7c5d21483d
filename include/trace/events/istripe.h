/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: state changes, logins, PDUs, faults. Plain values only. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM istripe

#if !defined(_TRACE_ISTRIPE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_ISTRIPE_H

#include <linux/tracepoint.h>
#include <compat/trace.h>

TRACE_EVENT(istripe_state,
	TP_PROTO(const char *label, const char *object, const char *from, const char *to),
	TP_ARGS(label, object, from, to),
	TP_STRUCT__entry(
		__string(label, label)
		__string(object, object)
		__string(from, from)
		__string(to, to)
	),
	TP_fast_assign(
		istripe_assign_str(label, label);
		istripe_assign_str(object, object);
		istripe_assign_str(from, from);
		istripe_assign_str(to, to);
	),
	TP_printk("%s %s %s -> %s", __get_str(label), __get_str(object), __get_str(from),
		  __get_str(to))
);

TRACE_EVENT(istripe_login,
	TP_PROTO(const char *label, const u8 *isid, u16 tsih, int result),
	TP_ARGS(label, isid, tsih, result),
	TP_STRUCT__entry(
		__string(label, label)
		__array(u8, isid, 6)
		__field(u16, tsih)
		__field(int, result)
	),
	TP_fast_assign(
		istripe_assign_str(label, label);
		memcpy(__entry->isid, isid, 6);
		__entry->tsih = tsih;
		__entry->result = result;
	),
	TP_printk("%s isid=%*phN tsih=%u result=%d", __get_str(label), 6, __entry->isid,
		  __entry->tsih, __entry->result)
);

DECLARE_EVENT_CLASS(istripe_pdu,
	TP_PROTO(const char *label, u16 cid, u8 opcode, u32 itt, u32 sn, u32 data_bytes),
	TP_ARGS(label, cid, opcode, itt, sn, data_bytes),
	TP_STRUCT__entry(
		__string(label, label)
		__field(u16, cid)
		__field(u8, opcode)
		__field(u32, itt)
		__field(u32, sn)
		__field(u32, data_bytes)
	),
	TP_fast_assign(
		istripe_assign_str(label, label);
		__entry->cid = cid;
		__entry->opcode = opcode;
		__entry->itt = itt;
		__entry->sn = sn;
		__entry->data_bytes = data_bytes;
	),
	TP_printk("%s cid=%u opcode=0x%02x itt=0x%08x sn=%u data_bytes=%u", __get_str(label),
		  __entry->cid, __entry->opcode, __entry->itt, __entry->sn, __entry->data_bytes)
);

/* sn: CmdSN, or the DataSN of a Data-Out */
DEFINE_EVENT(istripe_pdu, istripe_pdu_send,
	TP_PROTO(const char *label, u16 cid, u8 opcode, u32 itt, u32 sn, u32 data_bytes),
	TP_ARGS(label, cid, opcode, itt, sn, data_bytes)
);

/* sn: StatSN */
DEFINE_EVENT(istripe_pdu, istripe_pdu_receive,
	TP_PROTO(const char *label, u16 cid, u8 opcode, u32 itt, u32 sn, u32 data_bytes),
	TP_ARGS(label, cid, opcode, itt, sn, data_bytes)
);

TRACE_EVENT(istripe_fault,
	TP_PROTO(const char *label, int error, const char *why),
	TP_ARGS(label, error, why),
	TP_STRUCT__entry(
		__string(label, label)
		__field(int, error)
		__string(why, why)
	),
	TP_fast_assign(
		istripe_assign_str(label, label);
		__entry->error = error;
		istripe_assign_str(why, why);
	),
	TP_printk("%s error=%d %s", __get_str(label), __entry->error, __get_str(why))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH trace/events
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE istripe
#include <trace/define_trace.h>
