import { z } from 'zod'
import { cron } from './jobs.ts'
import { flag, group, optionalText, orNull, url, whole } from './values.ts'

const s3 = group({
  endpoint: orNull(url.transform((text) => text.replace(/\/+$/, ''))).describe(
    'Address of an S3-compatible store; null: Amazon S3 of the region',
  ),
  region: z.string().min(1, 'is empty').default('us-east-1'),
  accessKeyId: optionalText.describe('Take it from the environment'),
  secretAccessKey: optionalText.describe('Take it from the environment'),
  sessionToken: optionalText.describe('Of temporary credentials'),
  pathStyle: orNull(flag).describe(
    'The bucket in the path instead of the host; null: with an endpoint of your own',
  ),
})

/** The lake: where the marts are exported to. */
export const lakeSettings = group({
  to: optionalText.describe('A folder, relative to this file, or s3://bucket/prefix'),
  schedule: orNull(cron).describe(
    'When the job lake-export runs, in the zone of jobs.lake-export.timezone; null: as in its file',
  ),
  keepHours: whole(0, 8760)
    .default(168)
    .describe('How long an earlier version of a table stays readable'),
  s3,
})

/** How an S3-compatible store is reached. */
export type S3Settings = z.infer<typeof s3>
