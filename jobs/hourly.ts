import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Reads the evaluations of today and of other windows that are not settled yet',
  schedule: '20 * * * *',
  timezone: 'UTC',
  work: { kind: 'sync', streams: ['evaluations'], windows: 'fresh' },
  budgetMinutes: 50,
  // If another run is reading the evaluations, it reads the fresh windows too.
  waitMinutes: 0,
  lateAfterMinutes: 3 * 60,
})
