import { expect, test } from 'vitest'
import { scramVerifier, verifiesPassword } from '#src/warehouse/access/plan-logins.ts'

test('the verifier is the one of RFC 7677', () => {
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')

  const verifier = scramVerifier('pencil', salt)

  expect(verifier).toBe(
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  )
})

test('a verifier accepts only its password, with any salt and rounds', () => {
  const stored = scramVerifier('a long password', Buffer.alloc(16, 7), 5_000)

  expect(verifiesPassword(stored, 'a long password')).toBe(true)
  expect(verifiesPassword(stored, 'a long passwore')).toBe(false)
  expect(verifiesPassword(scramVerifier('a long password'), 'a long password')).toBe(true)
  expect(verifiesPassword(null, 'a long password')).toBe(false)
  expect(verifiesPassword('md5a3556571e93b0d20722ba62be61e8c2d', 'a long password')).toBe(false)
})
