import { defineJob } from '../src/scheduler/job.ts'

export default defineJob({
  does: 'Evaluations of the windows that are not settled yet, so that the day is seen by day',
  schedule: '20 * * * *',
  timezone: 'UTC',
  work: { kind: 'sync', streams: ['evaluations'], windows: 'fresh' },
  budgetMinutes: 50,
  // The run that holds the evaluations reads the fresh windows too.
  waitMinutes: 0,
  lateAfterMinutes: 3 * 60,
})
