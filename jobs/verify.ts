import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Compares sums, new windows, and a share of the rest and of values; the next sync reads ids again',
  schedule: '10 5 * * *',
  timezone: 'Australia/Sydney',
  work: { kind: 'verify' },
  budgetMinutes: 60,
  waitMinutes: 30,
  lateAfterMinutes: 48 * 60,
})
