"""A night of Forecourt as an asset of Dagster. FORECOURT is the command, `forecourt` by default."""

import json
import os
import shlex
import subprocess

import dagster as dg

retry_seconds = float(os.environ.get("FORECOURT_RETRY_SECONDS", "600"))


@dg.asset(output_required=False)
def forecourt(context: dg.AssetExecutionContext):
    command = shlex.split(os.environ.get("FORECOURT", "forecourt"))
    ended = subprocess.run([*command, "sync", "--json"], stdout=subprocess.PIPE, text=True)
    if ended.returncode == 3:
        context.log.info("Another run does the same work.")
        return
    if ended.returncode == 2:
        raise dg.Failure("Wrong usage or config: a retry would not help.", allow_retries=False)
    if ended.returncode != 0:
        if context.retry_number == 0:
            raise dg.RetryRequested(max_retries=1, seconds_to_wait=retry_seconds)
        raise dg.Failure(f"Ended with {ended.returncode}. What could be loaded is loaded.", allow_retries=False)
    yield dg.MaterializeResult(metadata={"report": dg.MetadataValue.json(json.loads(ended.stdout))})


night = dg.ScheduleDefinition(
    name="night", target=[forecourt], cron_schedule="0 2 * * *", execution_timezone="Australia/Sydney"
)
defs = dg.Definitions(assets=[forecourt], schedules=[night])
