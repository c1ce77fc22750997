"""One night: reads the new evaluations of every rooftop into Postgres. Ends with 0 when all is well."""

import json
import os
import sys

import dlt
from dlt.sources.rest_api import rest_api_source

env = os.environ
NOW = int(env["PEER_NOW"])
STEP = int(env.get("PEER_STEP", 7 * 86400))
LIMIT = int(env.get("PEER_LIMIT", 16))

dlt.config["runtime.dlthub_telemetry"] = False
# The pool of extract calls the service: its size is the number of requests in flight.
dlt.config["extract.workers"] = LIMIT
dlt.config["extract.max_parallel_items"] = LIMIT


@dlt.resource(name="windows", selected=False)
def windows(
    to=dlt.sources.incremental(
        "to",
        initial_value=int(env["PEER_START"]),
        lag=int(env.get("PEER_LAG", 3 * 86400)),
    ),
):
    for at in range(to.start_value, NOW, STEP):
        # Both bounds are exclusive. A parent yields pages: a list.
        yield [{"from": at - 1, "to": min(at + STEP, NOW)}]


def evaluations(dealer, key):
    listed = set()
    return rest_api_source(
        {
            "client": {
                "base_url": env["PEER_BASE"],
                "paginator": "single_page",
                "headers": {env["PEER_KEY_HEADER"]: key, "X-Dealer-Id": dealer},
            },
            "resources": [
                windows(),
                {
                    "name": "evallist",
                    "selected": False,
                    "parallelized": True,
                    "endpoint": {
                        "path": "getevallist",
                        "method": "POST",
                        "data_selector": "$",
                        "json": {
                            "startdate": "{resources.windows.from}",
                            "enddate": "{resources.windows.to}",
                        },
                    },
                    # An upsert needs unique keys. `add` returns None.
                    "processing_steps": [{"filter": lambda row: not (row["EvalID"] in listed or listed.add(row["EvalID"]))}],
                },
                {
                    "name": "evaluation",
                    "parallelized": True,
                    "primary_key": "EvalID",
                    "write_disposition": {
                        "disposition": "merge",
                        "strategy": "upsert",
                        "skip_unchanged_rows": True,
                        "row_version_column_name": "UpdatedAt",
                    },
                    # Lists and objects stay in one JSON column each.
                    "max_table_nesting": 0,
                    # Else the first value decides: a whole number makes a bigint.
                    "columns": {
                        "FinalPrice": {"data_type": "decimal"},
                        "Reconditioning": {"data_type": "decimal"},
                        "EntryDate": {"data_type": "text"},
                    },
                    "endpoint": {
                        "path": "geteval",
                        "method": "POST",
                        "data_selector": "$",
                        "json": {"evalid": "{resources.evallist.EvalID}"},
                        # Not found: no longer there since it was listed.
                        "response_actions": [{"status_code": 400, "action": "ignore"}],
                    },
                    "processing_steps": [{"map": lambda row: {**row, "dealer": dealer}}],
                },
            ],
        },
        name="appraisals",
    )


failed = 0
# One pipeline per rooftop: a dead key stops its rooftop only.
for rooftop in json.loads(env["PEER_ROOFTOPS"]):
    name = rooftop["dealer"].replace("-", "_")
    pipeline = dlt.pipeline(
        f"appraisals_{name}",
        pipelines_dir=env["PEER_STATE"],
        destination=dlt.destinations.postgres(
            env["PEER_DATABASE"], staging_dataset_name_layout=f"%s_staging_{name}"
        ),
        dataset_name="peer_dlt",
    )
    try:
        # What a killed run left is loaded first; that run reads nothing.
        if pipeline.has_pending_data:
            pipeline.run()
        print(pipeline.run(evaluations(**rooftop), loader_file_format="csv"))
    except Exception as error:
        failed += 1
        print(f"{rooftop['dealer']}: {error}", file=sys.stderr)
sys.exit(1 if failed else 0)
