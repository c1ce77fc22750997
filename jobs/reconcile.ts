import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Lists the whole history again, loads what was missed, and proves the coverage',
  schedule: '0 6 * * 0',
  timezone: 'Australia/Sydney',
  work: { kind: 'sync', streams: ['evaluations'], windows: 'every' },
  budgetMinutes: 18 * 60,
  waitMinutes: 4 * 60,
  lateAfterMinutes: 48 * 60,
})
