import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Writes what has changed in the marts to Delta tables in lake.to',
  schedule: '30 7 * * *',
  timezone: 'Australia/Sydney',
  work: { kind: 'lake' },
  budgetMinutes: 6 * 60,
  // Another export to the same lake writes the same.
  waitMinutes: 0,
  lateAfterMinutes: 24 * 60,
})
