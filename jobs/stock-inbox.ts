import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Imports the stock lists that were dropped into the folders of stock.inbox',
  schedule: '*/5 * * * *',
  timezone: 'UTC',
  work: { kind: 'stock-inbox' },
  budgetMinutes: 60,
  waitMinutes: 0,
  lateAfterMinutes: 60,
})
