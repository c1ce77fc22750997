import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Deletes data older than the config allows (retention:)',
  schedule: '15 4 * * *',
  timezone: 'Australia/Sydney',
  work: { kind: 'retention' },
  budgetMinutes: 3 * 60,
  waitMinutes: 0,
  lateAfterMinutes: 48 * 60,
})
