import { expect, test } from 'vitest'
import { aVehicle } from '../import-fixture.ts'
import { openInboxFixture } from './inbox-fixture.ts'

test('a list whose reason quotes a NUL is refused with that reason', async () => {
  await using fixture = await openInboxFixture()
  const rows = [1, 2, 3, 4, 5, 6].map(
    (at) => `C\0${at}45,${aVehicle(at).vin},Toyota,Corolla,2019,45000,2100${at}.50`,
  )
  const list = ['Code,VIN,Make,Model,Year,Odometer (km),Amount', ...rows, ''].join('\r\n')
  await fixture.drop('a.csv', list)

  const { files } = await fixture.pass()

  expect(files).toHaveLength(1)
  expect(files[0]!.state).toBe('failed')
  expect(files[0]!.reason).toContain('the meaning of its columns is not certain')
})
