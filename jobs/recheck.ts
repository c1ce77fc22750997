import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Lists recent windows again, for late completions and edits, a second time a day',
  schedule: '40 13 * * *',
  timezone: 'Australia/Sydney',
  work: { kind: 'sync', streams: ['evaluations'], windows: 'due' },
  budgetMinutes: 6 * 60,
  waitMinutes: 60,
  lateAfterMinutes: 12 * 60,
})
