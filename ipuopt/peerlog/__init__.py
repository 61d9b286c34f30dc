"""Logs of the public compiler: what a run planned, scheduled, placed and measured, as tables.

Read only: nothing is solved, and nothing of a log is trusted to be whole. The grammar is that of
``tracing-subscriber``, as text or as JSON lines, with the plain lines of cargo and of the program
between its events; a file may have lost its line ends, be cut off, or end in a panic.

``log = read_log(path)`` gives events, plain records, status and all that was not understood;
``tables(log)`` what they say, :func:`horizon_sums` the sums of horizons and bounds, and
:func:`plan_document` the operator plan that a log at debug level prints.
"""

from ipuopt.peerlog.document import plan_document
from ipuopt.peerlog.log import Log, Status
from ipuopt.peerlog.reading import read_log
from ipuopt.peerlog.sums import HorizonSum, horizon_sums
from ipuopt.peerlog.table import Table
from ipuopt.peerlog.tables import TABLES, tables

__all__ = [
    "TABLES",
    "HorizonSum",
    "Log",
    "Status",
    "Table",
    "horizon_sums",
    "plan_document",
    "read_log",
    "tables",
]
