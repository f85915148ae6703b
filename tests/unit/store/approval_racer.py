"""One of many processes that answer, take and spend the same approval at the same moment.

python approval_racer.py STATE QUESTION NUMBER     starts when its stdin is closed
"""

import json
import sys

from tongs.core.approval import ApprovalResponse
from tongs.core.errors import ToolError
from tongs.store.approvals import ApprovalStore

state, question, number = sys.argv[1:]
store = ApprovalStore(state)
print("ready", flush=True)
sys.stdin.read()
answered = store.answer(question, ApprovalResponse(True, {"BY": number}, f"racer {number}"))
response = store.take(question)
spent = False
if response is not None:
    try:
        store.spend(response)
        spent = True
    except ToolError:
        spent = False
arguments = None if response is None else response.modified_args
print(json.dumps({"number": number, "answered": answered, "spent": spent, "ran": arguments}))
