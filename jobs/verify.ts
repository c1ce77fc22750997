import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Compares all ids and sums, and a share of the values; the next sync reads wrong ids again',
  schedule: '10 5 * * *',
  timezone: 'Australia/Sydney',
  work: { kind: 'verify' },
  budgetMinutes: 60,
  waitMinutes: 30,
  lateAfterMinutes: 48 * 60,
})
