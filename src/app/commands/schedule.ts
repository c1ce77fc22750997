import { noProgress } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { sessionName } from '../../warehouse/db/processes.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import { loadJobs } from '../scheduler/load-jobs.ts'
import { runScheduler } from '../scheduler/scheduler.ts'
import type { RunCommand } from './command.ts'
import { openOptionalPort } from './operations-port.ts'

export const schedule: RunCommand = async (session, options) => {
  const { config, log } = session
  chooseRooftops(config, [])
  const jobs = await loadJobs(config)
  const enabled = jobs.filter(({ disabledReason: off }) => off === null)
  for (const { name, disabledReason: off } of jobs)
    if (off !== null) log.info(`${name} is not scheduled: ${off}`)
  if (enabled.length === 0)
    throw new UsageError('Every job is switched off: take one enabled: false out of jobs:.')
  const context = await session.context({
    progress: noProgress,
    waitSeconds: null,
    applicationName: sessionName('schedule', config),
  })
  await using _operations = await openOptionalPort(context, options)
  const hasStopped = await runScheduler(context, enabled)
  session.result({ stopped: true, jobs: enabled.map(({ name }) => name) }, () => ['Stopped.'])
  // As a second signal would: what did not stop would keep the connections, and with them the process.
  if (!hasStopped) process.kill(process.pid, 'SIGTERM')
  return 0
}
