"""Materializes the asset with each command of the arguments, and prints how the runs went as JSON."""

import json
import os
import sys

import dagster as dg
from forecourt_assets import forecourt


def run(command):
    os.environ["FORECOURT"] = command
    result = dg.materialize([forecourt], raise_on_error=False)
    materialized = result.asset_materializations_for_node("forecourt")
    return {"success": result.success, "reports": [event.metadata["report"].value for event in materialized]}


print(json.dumps([run(command) for command in sys.argv[1:]]))
