"""One night: a tap and a target for each rooftop, with a state file of its own. Ends with 0 when all is well."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

env = os.environ
env.setdefault("LOGLEVEL", "WARNING")
folder = Path(env["PEER_STATE"])
rooftops = json.loads(env["PEER_ROOFTOPS"])


def config(name, settings):
    path = folder / f"{name}.config.json"
    path.write_text(json.dumps(settings))
    return ["--config", str(path)]


def tap(rooftop):
    settings = {
        **rooftop,
        "base": env["PEER_BASE"],
        "key_header": env["PEER_KEY_HEADER"],
        "start": int(env["PEER_START"]),
        "now": int(env["PEER_NOW"]),
        "step": int(env.get("PEER_STEP", 7 * 86400)),
        "lag": int(env.get("PEER_LAG", 3 * 86400)),
    }
    program = str(Path(__file__).with_name("tap.py"))
    return [f"{env['PEER_TAP_BIN']}/python", program, *config(rooftop["dealer"], settings)]


target = [
    f"{env['PEER_TARGET_BIN']}/target-postgres",
    *config(
        "target",
        {
            "sqlalchemy_url": f"postgresql+psycopg://{env['PEER_DATABASE'].split('://')[1]}",
            "dialect+driver": "postgresql+psycopg",
            "default_target_schema": "peer_singer",
            "use_copy": True,
            "add_record_metadata": False,
            "activate_version": False,
        },
    ),
]


def pipe(words, output):
    """words | target > output: 0 when both ended with 0."""
    with output.open("w") as out:
        left = subprocess.Popen(words, stdout=subprocess.PIPE)
        right = subprocess.Popen(target, stdin=left.stdout, stdout=out)
        left.stdout.close()
        return right.wait() or left.wait()


def read(rooftop):
    dealer = rooftop["dealer"]
    state, output = folder / f"{dealer}.state.json", folder / f"{dealer}.output"
    seen = ["--state", str(state)] if state.exists() else []
    code = pipe([*tap(rooftop), *seen], output)
    # The target prints a state when all before it is committed. The file changes in one step, and never to an empty one.
    states = output.read_text().splitlines()
    if states:
        new = state.with_suffix(".new")
        new.write_text(states[-1])
        new.replace(state)
    if code != 0:
        print(f"{dealer}: the tap or the target failed", file=sys.stderr)
    return code


# Targets that start together would all create the schema and the table, and all but one would fail.
ready = folder / "tables.ready"
if not ready.exists():
    if pipe([*tap(rooftops[0]), "--test=schema"], folder / "tables.output") != 0:
        sys.exit("The tables cannot be made")
    ready.touch()
with ThreadPoolExecutor(int(env.get("PEER_LIMIT", 16))) as pool:
    sys.exit(1 if any(list(pool.map(read, rooftops))) else 0)
