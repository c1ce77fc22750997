"""Materializes the asset and prints how the run went as JSON."""

import json

import dagster as dg
from forecourt_assets import forecourt

result = dg.materialize([forecourt], raise_on_error=False)
materialized = result.asset_materializations_for_node("forecourt")
print(
    json.dumps(
        {
            "success": result.success,
            "events": [event.event_type_value for event in result.all_events],
            "reports": [event.metadata["report"].value for event in materialized],
        }
    )
)
