"""A night of Forecourt as a DAG of Airflow 3. FORECOURT is the command, `forecourt` by default."""

import json
import os
import shlex
import subprocess
from datetime import timedelta

import pendulum
from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

retry_seconds = float(os.environ.get("FORECOURT_RETRY_SECONDS", "600"))


@dag(
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="Australia/Sydney"),
    catchup=False,
    max_active_runs=1,
)
def forecourt():
    @task(retries=1, retry_delay=timedelta(seconds=retry_seconds))
    def sync():
        command = shlex.split(os.environ.get("FORECOURT", "forecourt"))
        ended = subprocess.run([*command, "sync", "--json"], stdout=subprocess.PIPE, text=True)
        if ended.returncode == 3:
            raise AirflowSkipException("Another run does the same work.")
        if ended.returncode == 2:
            raise AirflowFailException("Wrong usage or config: a retry would not help.")
        if ended.returncode != 0:
            raise AirflowException(f"Ended with {ended.returncode}. What could be loaded is loaded.")
        return json.loads(ended.stdout)

    sync()


nightly = forecourt()
