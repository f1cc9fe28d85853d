import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_SCIM_PAGE, SCIM_URNS } from '@countersign/protocol'
import fc from 'fast-check'
import { parse } from 'scim2-parse-filter'
import SCIMMY from 'scimmy'
import type { Answer } from '../../../../../../test/support/answer.ts'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import { askScim, connectDirectory, scimOf } from '../../../../../../test/support/scim.ts'
import { startTestService } from '../../../../../../test/support/service.ts'
import { readScimFilter } from '../../../../src/accounts/organisations/scim/scim-filter.ts'

type Body = Record<string, unknown>

/** What another implementation makes of a user. */
function readByScimmy(answer: Answer): Body {
  return JSON.parse(JSON.stringify(new SCIMMY.Schemas.User(scimOf(answer), 'out'))) as Body
}

test('another implementation reads users, lists and what the service says of itself', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const full = { externalId: 'g', displayName: 'Grace' }
  for (const attributes of [{}, full, { active: false }]) {
    const id = await directory.add(`user-${JSON.stringify(attributes)}`, attributes)
    const answer = await directory.send('GET', `/Users/${id}`)
    assert.deepEqual(readByScimmy(answer), scimOf(answer))
  }
  const listed = scimOf(await directory.send('GET', '/Users?count=2'))
  const list = new SCIMMY.Messages.ListResponse(listed as never)
  assert.deepEqual(JSON.parse(JSON.stringify(list)), listed)
  const config = scimOf(await directory.send('GET', '/ServiceProviderConfig'))
  const read = new SCIMMY.Schemas.ServiceProviderConfig(config)
  assert.equal(read.patch?.supported, true)
  assert.equal(read.filter?.maxResults, MAX_SCIM_PAGE)
  assert.equal(read.bulk?.supported, false)
  const types = scimOf<{ Resources: Body[] }>(await directory.send('GET', '/ResourceTypes'))
  assert.deepEqual(
    types.Resources.map((each) => new SCIMMY.Schemas.ResourceType(each).endpoint),
    ['/Users'],
  )
  // Each attribute is described as the standard describes it.
  const { Resources } = scimOf<{ Resources: { attributes: Body[] }[] }>(
    await directory.send('GET', '/Schemas'),
  )
  const described = JSON.stringify(SCIMMY.Schemas.User.definition.describe().attributes)
  const standard = JSON.parse(described) as Body[]
  for (const own of Resources[0]?.attributes ?? []) {
    const { description: _, ...rest } = own
    const { description: __, ...told } = standard.find(({ name }) => name === own.name) ?? {}
    assert.deepEqual(rest, { ...told, ...rest })
  }
})

test('another implementation reads every error', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const id = await directory.add('grace')
  const url = `/Users/${id}`
  const answers = [
    await directory.send('GET', '/Users/su_x'),
    await directory.send('GET', '/Users?filter=x'),
    await directory.send('GET', '/Users?count=x'),
    await directory.send('POST', '/Users', { userName: 'GRACE' }),
    await directory.send('POST', '/Users', {}),
    await directory.send('PATCH', url, { Operations: [] }),
    await directory.send('PATCH', url, { Operations: [{ op: 'remove' }] }),
    await directory.send('PATCH', url, { Operations: [{ op: 'remove', path: 'active' }] }),
    await directory.send('PATCH', url, { Operations: [{ op: 'add', path: '[', value: 1 }] }),
    await directory.send('PATCH', url, '{'),
    await directory.send('PUT', url, ' '.repeat(66_000)),
    await directory.send('GET', '/Groups'),
    await directory.send('POST', '/Groups', {}),
    await directory.send('PATCH', '/Groups/x', {}),
    await directory.send('POST', '/Bulk', {}),
    await directory.send('GET', '/Me'),
    await directory.send('POST', '/.search', {}),
    await directory.send('POST', '/Users/.search', {}),
    await directory.send('GET', '/Agents'),
    await directory.send('GET', '/Users/%ff'),
    await directory.send('POST', url, {}),
    await askScim(service, 'svc-scim-0', 'GET', '/Users'),
  ]
  const seen = new Set<string>()
  for (const answer of answers) {
    const { error, schemas, ...told } = scimOf<Body & { detail: string; error: Body }>(answer)
    assert.equal(told.status, String(answer.status), answer.text)
    assert.match(String(error.requestId), /^req_/)
    seen.add(`${told.status} ${told.scimType ?? error.code}`)
    // It throws what it reads.
    assert.throws(() => new SCIMMY.Messages.ErrorResponse({ ...told, schemas } as never), {
      status: told.status,
      scimType: told.scimType,
      message: told.detail,
    })
    // Which type goes with which status.
    if (told.scimType !== undefined) new SCIMMY.Messages.ErrorResponse(told as never)
  }
  assert.deepEqual([...seen].toSorted(), [
    '400 VALIDATION_ERROR',
    '400 invalidFilter',
    '400 invalidPath',
    '400 invalidSyntax',
    '400 invalidValue',
    '400 mutability',
    '400 noTarget',
    '401 UNAUTHENTICATED',
    '404 NOT_FOUND',
    '405 METHOD_NOT_ALLOWED',
    '409 uniqueness',
    '413 PAYLOAD_TOO_LARGE',
    '501 NOT_IMPLEMENTED',
  ])
})

test('a standard PATCH changes what another implementation changes', async (t) => {
  const service = await startTestService(t)
  const directory = await connectDirectory(service, await createOrganisation(service))
  const patches = [
    [{ op: 'replace', path: 'active', value: false }],
    [{ op: 'replace', value: { active: false, displayName: 'G' } }],
    [{ op: 'add', path: 'displayName', value: 'G' }],
    [{ op: 'remove', path: 'displayName' }],
    [
      { op: 'replace', path: 'userName', value: 'hopper' },
      { op: 'replace', path: 'displayName', value: 'H' },
      { op: 'replace', path: 'active', value: true },
    ],
    [{ op: 'replace', path: 'externalId', value: 'h' }],
  ]
  for (const [i, operations] of patches.entries()) {
    const id = await directory.add(`user-${i}`, { externalId: `e-${i}`, displayName: 'Grace' })
    const before = scimOf(await directory.send('GET', `/Users/${id}`))
    const body = { schemas: [SCIM_URNS.patch] as [string], Operations: operations }
    const message = new SCIMMY.Messages.PatchOp(body as never)
    const expected = await message.apply(new SCIMMY.Schemas.User(before) as never)
    const after = readByScimmy(await directory.send('PATCH', `/Users/${id}`, body))
    const { meta: _, ...told } = after
    const { meta: __, ...wanted } = JSON.parse(JSON.stringify(expected ?? before)) as Body
    assert.deepEqual(told, wanted, JSON.stringify(operations))
    await directory.send('DELETE', `/Users/${id}`)
  }
})

/** The comparison that a parser of the whole language makes of a filter; null if it is none that is supported. */
function readByParser(filter: string): { attribute: string; value: string } | null {
  try {
    const parsed = parse(filter)
    if (parsed.op !== 'eq' || typeof parsed.compValue !== 'string') return null
    const attribute = parsed.attrPath.split(':').at(-1)?.toLowerCase() ?? ''
    return { attribute, value: parsed.compValue }
  } catch {
    return null
  }
}

const COLUMNS = { username: 'user_name_folded', externalid: 'external_id', id: 'id' } as const

test('filters mean what another parser reads', () => {
  const attribute = fc.constantFrom(
    ...['userName', 'USERNAME', 'externalId', 'id', `${SCIM_URNS.user}:userName`],
  )
  const text = fc.string({ unit: 'grapheme', maxLength: 20 })
  fc.assert(
    fc.property(attribute, text, (name, value) => {
      const filter = `${name} eq ${JSON.stringify(value)}`
      const expected = readByParser(filter)
      assert.ok(expected, filter)
      const column = COLUMNS[expected.attribute as keyof typeof COLUMNS]
      const folded = column === 'user_name_folded' ? value.toLowerCase() : value
      assert.deepEqual(readScimFilter(filter), { column, value: folded })
      assert.equal(expected.value, value)
    }),
  )
  // Nor is anything else accepted.
  const part = fc.constantFrom(
    ...[
      'userName',
      'id',
      'active',
      ' ',
      'eq',
      'EQ',
      'ne',
      'and',
      '"',
      '\\',
      '"a"',
      'true',
      '(',
      ')',
    ],
  )
  const anything = fc.array(part, { maxLength: 7 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(anything, (filter) => {
      let read: unknown = null
      try {
        read = readScimFilter(filter)
      } catch {
        return
      }
      const expected = readByParser(filter)
      assert.ok(expected, filter)
      const column = COLUMNS[expected.attribute as keyof typeof COLUMNS]
      assert.deepEqual(read, { column, value: expected.value })
    }),
    { numRuns: 2000 },
  )
})
