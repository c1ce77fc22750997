import { api } from './api.ts'
import { backfill } from './backfill.ts'
import { bench } from './bench.ts'
import { check } from './check.ts'
import type { CommandDefinition } from './command.ts'
import { demo } from './demo.ts'
import { grant } from './grant.ts'
import { erase } from './erase.ts'
import { init } from './init.ts'
import { links } from './links.ts'
import { migrate } from './migrate.ts'
import { quarantine } from './quarantine.ts'
import { replay } from './replay.ts'
import { reprice } from './reprice.ts'
import { run } from './run.ts'
import { runs } from './runs.ts'
import { sandbox } from './sandbox.ts'
import { schedule } from './schedule.ts'
import { serve } from './serve.ts'
import { status } from './status.ts'
import { stock } from './stock.ts'
import { sync } from './sync.ts'
import { verify } from './verify.ts'
import { warehouse } from './warehouse.ts'
import { webhooks } from './webhooks.ts'
import { why } from './why.ts'
import { worker } from './worker.ts'

/** Every command, in the order of `--help`. */
export const allCommands: readonly CommandDefinition[] = [
  demo,
  init,
  check,
  migrate,
  grant,
  sync,
  backfill,
  run,
  schedule,
  worker,
  serve,
  status,
  runs,
  verify,
  why,
  replay,
  quarantine,
  stock,
  reprice,
  links,
  webhooks,
  erase,
  api,
  warehouse,
  sandbox,
  bench,
]
