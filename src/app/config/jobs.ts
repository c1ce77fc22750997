import { z } from 'zod'
import { parseCron } from '../../values/cron.ts'
import { flag, zone } from './values.ts'

/** A cron expression. */
export const cron = z
  .string()
  .refine(
    (text) => parseCron(text) !== null,
    'is not a schedule: write five cron fields, e.g. "0 2 * * *", or six with seconds first',
  )

/** Where the scheduler differs from the file of a job. */
export const job = z.strictObject({
  schedule: cron
    .optional()
    .describe(
      "Cron expression, whose day of month and day of week must both fit (crontab takes either); default: the job's own",
    ),
  timezone: zone.optional().describe("Where the schedule is read; default: the job's own"),
  enabled: flag.default(true).describe('false: the scheduler leaves it out'),
})
