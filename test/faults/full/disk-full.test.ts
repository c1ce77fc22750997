import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCluster } from '../cluster.ts'
import { expectTruth, openDeployment } from '../deployment.ts'
import { fill, mayMount, openDisk } from '../small-disk.ts'

test.skipIf(!(await mayMount()))(
  'a disk that is full fails the slices that need it, and when there is room again the next sync has everything',
  async () => {
    await using disk = await openDisk(400)
    await using cluster = await openCluster(join(disk.path, 'postgres'))
    const url = await cluster.warehouse('crowded')
    await using fleet = await openDeployment({ url, rooftops: 40, evaluations: 3000 })
    const free = await fill(disk.path, 4)

    const { code, signal, stderr } = await fleet.run(['sync', 'evaluations'])

    expect({ code, signal }).toEqual({ code: 1, signal: null })
    expect(stderr).toMatch(/No space left on device|connection to Postgres was lost/)
    expect(stderr).not.toMatch(/Unhandled|uncaught/)
    await free()
    await cluster.start()
    expect(await fleet.run(['sync', 'evaluations'])).toMatchObject({ code: 0 })
    await expectTruth(fleet)
  },
)
