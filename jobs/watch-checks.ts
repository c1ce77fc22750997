import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Reads new past checks and the state of watched ones',
  schedule: '10 1,7,13,19 * * *',
  timezone: 'UTC',
  work: { kind: 'sync', streams: ['vehicle-checks'], windows: 'due' },
  budgetMinutes: 5 * 60,
  waitMinutes: 60,
  lateAfterMinutes: 13 * 60,
})
