import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Card, OrganisationDomain } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { claimAgent } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { DOMAIN, type Fixture, NAME, startChannelFixture } from './support/channel-fixture.ts'
import {
  checkDomain,
  DOMAIN_PATH,
  type DomainHolder,
  domainOf,
  newDomainHolder,
} from './support/organisation-fixture.ts'
import { DAY, HOUR, until } from './support/scheduled-checks.ts'

/** Moves the clock in steps of days and waits each time until the domain is not due any more. */
async function passDays(
  fixture: Fixture,
  { organisation }: DomainHolder,
  clock: { ahead: number },
  days: number,
): Promise<void> {
  const dueAt = async () => {
    const row = await fixture.service.operator.db.read
      .selectFrom('organisation_domains')
      .select(['due_at', 'held_until'])
      .where('org_id', '=', organisation.id)
      .executeTakeFirst()
    return row?.held_until === 0 ? row.due_at : 0
  }
  for (let day = 0; day < days; day++) {
    clock.ahead += DAY
    const isDone = (due: number | null) => due === null || due > fixture.now()
    await until(fixture, dueAt, isDone, 'the domain was checked')
  }
}

suite('a domain that an organisation has proven', () => {
  test('is checked each day, and renewed by a token whose own expiry has passed', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const acme = await newDomainHolder(fixture)
    fixture.txt(NAME, acme.line)
    const first = await checkDomain(acme.admin)
    await passDays(fixture, acme, clock, 6)
    assert.equal((await domainOf(fixture, acme)).expiresAt, first.expiresAt, 'not yet')
    await passDays(fixture, acme, clock, 3)
    const renewed = await domainOf(fixture, acme)
    const gained = Date.parse(renewed.expiresAt as string) - Date.parse(first.expiresAt as string)
    assert.ok(gained >= 6 * DAY && gained <= 9 * DAY, String(gained / DAY))
    assert.equal(renewed.line, acme.line)
    await passDays(fixture, acme, clock, 10)
    assert.notEqual((await domainOf(fixture, acme)).provenAt, null)
  })

  test('expires without its line, and then another holder can prove it', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const { service } = fixture
    const acme = await newDomainHolder(fixture)
    fixture.txt(NAME, acme.line)
    await checkDomain(acme.admin)
    const did = await claimAgent(service, acme.organisation.id)
    const card = async () => jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    assert.deepEqual(
      [(await card()).grade, (await card()).ownerName?.verified?.name],
      ['D', DOMAIN],
    )

    const heir = await newDomainHolder(fixture, 'heir')
    fixture.txt(NAME, heir.line)
    assertRefused(await heir.admin.post(`${DOMAIN_PATH}/check`), 409, 'CONFLICT')
    await passDays(fixture, acme, clock, 14)
    const isExpired = ({ grade }: Card) => grade === 'E'
    const after = await until(fixture, card, isExpired, 'the grade follows')
    assert.deepEqual([after.verification, after.ownerName?.verified], [null, null])
    const own = await domainOf(fixture, acme)
    assert.deepEqual(
      [own.domain, own.line, own.provenAt, own.expiresAt],
      [DOMAIN, null, null, null],
    )

    const query = '?organisation=heir'
    const self = await signIn(service, heir.admin.ownerId, fixture.now())
    const set = await self.send('PUT', `${DOMAIN_PATH}${query}`, { domain: DOMAIN })
    const { line } = jsonOf<OrganisationDomain>(set)
    // The former holder's line comes back too, and does not count any more.
    fixture.txt(NAME, acme.line, line as string)
    const proven = await self.post(`${DOMAIN_PATH}/check${query}`)
    assert.equal(proven.status, 200, proven.text)
    await passDays(fixture, acme, clock, 2)
    assert.equal((await domainOf(fixture, acme)).provenAt, null)
    assert.notEqual((await domainOf(fixture, heir)).provenAt, null)
  })

  test('an unreachable domain is asked again after an hour, and loses nothing', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const acme = await newDomainHolder(fixture)
    fixture.txt(NAME, acme.line)
    const first = await checkDomain(acme.admin)
    fixture.dns[0]?.fail(NAME, 'SERVFAIL')
    await passDays(fixture, acme, clock, 8)
    assert.equal((await domainOf(fixture, acme)).expiresAt, first.expiresAt)
    fixture.dns[0]?.fail(NAME, null)
    clock.ahead += HOUR + 1000
    await until(
      fixture,
      () => domainOf(fixture, acme),
      ({ expiresAt }) => expiresAt !== first.expiresAt,
      'renewed',
    )
  })

  test('a verification that an admin removed is not renewed', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const acme = await newDomainHolder(fixture)
    fixture.txt(NAME, acme.line)
    await checkDomain(acme.admin)
    const removed = await acme.admin.send('DELETE', '/api/identity/organisation-domain')
    assert.equal(removed.status, 204, removed.text)
    await passDays(fixture, acme, clock, 9)
    assert.equal((await domainOf(fixture, acme)).provenAt, null)
  })
})
