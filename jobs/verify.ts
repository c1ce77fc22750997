import { defineJob } from '../src/scheduler/job.ts'

export default defineJob({
  does: 'Compares every stored row with the lists; the next sync reads what differs again',
  schedule: '10 5 * * *',
  timezone: 'Australia/Sydney',
  work: { kind: 'verify' },
  budgetMinutes: 60,
  waitMinutes: 30,
  lateAfterMinutes: 48 * 60,
})
