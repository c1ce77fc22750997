import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Prices the stock on hand again, by price-batch',
  schedule: '30 5 * * 1',
  timezone: 'Australia/Sydney',
  work: { kind: 'reprice' },
  budgetMinutes: 6 * 60,
  waitMinutes: 2 * 60,
  lateAfterMinutes: 24 * 60,
})
