import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { fillNames } from '../../packages/server/src/pages/docs/deployment-names.ts'
import { STAND_IN, templateOf } from './stand-ins.ts'

test('what is made with the stand-ins becomes what another deployment would have made', () => {
  const made = ({
    shortName,
    idHeader,
    serviceName,
    baseUrl,
  }: Record<keyof typeof STAND_IN, string>) =>
    `${shortName}:agent: ${shortName}Did ${idHeader} ${idHeader.toLowerCase()} ${serviceName} ${baseUrl}/x ${new URL(baseUrl).host}`
  const names = {
    shortName: 'acme',
    idHeader: 'Acme-ID',
    serviceName: 'Acme',
    baseUrl: 'https://agents.example:8443',
  }
  const deployment = {
    naming: namingFor(names.shortName, names.idHeader),
    serviceName: names.serviceName,
    baseUrl: names.baseUrl,
    limits: new Set<string>(),
    features: { witness: false, cardFormats: false },
  }
  assert.equal(fillNames(templateOf(made(STAND_IN)), deployment), made(names))
})

test('part of a stand-in is refused, since every deployment would show it', () => {
  for (const text of ['QWZ', 'Qwzheade', 'https%3A%2F%2FQwz'])
    assert.throws(() => templateOf(`a ${text} b`))
})
