import { backfill } from './backfill.ts'
import type { CommandDefinition } from './command.ts'
import { migrate } from './migrate.ts'
import { sandbox } from './sandbox.ts'
import { sync } from './sync.ts'

/** Every command, in the order of `--help`. */
export const allCommands: readonly CommandDefinition[] = [migrate, sync, backfill, sandbox]
