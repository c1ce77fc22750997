import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Re-signs the links that are about to expire, the soonest first',
  schedule: '50 */6 * * *',
  timezone: 'UTC',
  work: { kind: 'links' },
  budgetMinutes: 5 * 60,
  waitMinutes: 60,
  lateAfterMinutes: 13 * 60,
})
