import { z } from 'zod'
import { optionalText, orNull, reporter, whole, zone } from './values.ts'

const inbox = z
  .strictObject({
    folder: z
      .string()
      .min(1, 'is empty')
      .describe('Where the lists are dropped, relative to this file'),
    rooftop: optionalText.describe('Whose stock it is, by uid'),
    rooftopColumn: optionalText.describe(
      'For a file of several rooftops: the header of the column that names them by uid, name or code',
    ),
    rooftopCodes: z
      .record(z.string(), z.string())
      .default({})
      .describe('Your own codes in that column: code: uid'),
    pattern: z
      .string()
      .min(1, 'is empty')
      .refine((text) => !/[/\\]/.test(text), 'has a / or \\: write only the name of the files')
      .default('*')
      .describe('Which names, e.g. north-*.csv; other files of the folder are left alone'),
    mode: z.enum(['snapshot', 'delta']).default('snapshot'),
    sheet: optionalText.describe('Of workbooks with several lists: the name of the sheet'),
    expectDaily: orNull(
      z
        .string()
        .regex(
          /^([01]\d|2[0-3]):[0-5]\d$/,
          'is not a time of day: write it in quotes, e.g. "07:00"',
        ),
    ).describe('A list that has not come by this time of day is reported; null: none is expected'),
    timezone: orNull(zone).describe(
      'The zone of that time; null: of the rooftop, the first one for rooftopColumn',
    ),
    settleSeconds: whole(1, 3600)
      .default(10)
      .describe('A file is complete when it has not changed for this long'),
    keepDays: orNull(whole(1, 3650)).describe(
      'How long imported files stay in done/; null: until you remove them',
    ),
    marker: orNull(z.string().regex(/^\.[\w.-]+$/, 'is not an ending such as .done')).describe(
      'A file is complete when <name><marker> is beside it; null: by settleSeconds',
    ),
  })
  .superRefine(({ rooftop, rooftopColumn }, context) => {
    if ((rooftop === null) === (rooftopColumn === null))
      reporter(context)('rooftop', 'or rooftopColumn: set exactly one of the two')
  })

/** The drop folders. */
export const inboxSettings = z
  .array(inbox)
  .default([])
  .superRefine((inboxes, context) => {
    for (const [index, { folder, pattern }] of inboxes.entries())
      if (inboxes.findIndex((one) => one.folder === folder && one.pattern === pattern) < index)
        reporter(context, index)(
          'pattern',
          'is listed twice for this folder: give each its own pattern',
        )
  })

/** A drop folder as the config describes it. */
export type InboxConfig = z.infer<typeof inbox>
