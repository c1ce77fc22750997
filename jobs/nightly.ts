import { defineJob } from '../src/app/scheduler/job.ts'

export default defineJob({
  does: 'Syncs everything that is due, of every stream, like "forecourt sync"',
  schedule: '0 2 * * *',
  timezone: 'Australia/Sydney',
  work: {
    kind: 'sync',
    streams: ['users', 'evaluations', 'pricing', 'vehicle-checks', 'stock-prices'],
    windows: 'due',
  },
  budgetMinutes: 22 * 60,
  waitMinutes: 4 * 60,
  lateAfterMinutes: 6 * 60,
})
