import { type Check, type Kit, ofEachAgent, segment } from './check.ts'
import {
  anyText,
  expectBody,
  expectEqual,
  expectShape,
  flag,
  fullUrl,
  listOf,
  Mismatch,
  object,
  oneOf,
  orNull,
  someText,
  textLike,
  that,
  timestamp,
} from './expect.ts'
import { didShape, lookup, STATUS } from './lookup-checks.ts'

const MAX_DESCRIPTION = 160

/** Contract 2.4, 4.5. */
async function fullCard(kit: Kit, did: string): Promise<Record<string, unknown>> {
  const answer = await kit.client.get(`/api/agents/${segment(did)}/card`)
  return expectBody(
    answer,
    200,
    object({
      [kit.naming.didField]: didShape(kit),
      displayName: someText,
      username: orNull(textLike(/^[A-Za-z0-9._~-]+$/, 'a URL-safe handle')),
      description: that(
        `a string of at most ${MAX_DESCRIPTION} characters`,
        (value) => typeof value === 'string' && [...value].length <= MAX_DESCRIPTION,
      ),
      avatarUrl: fullUrl,
      status: STATUS,
      claimedAt: timestamp,
      owner: orNull(object({ displayName: anyText, username: anyText })),
      verification: orNull(object({ provider: someText, label: someText, verifiedAt: timestamp })),
      channels: listOf(object({ kind: someText, handleOrDomain: someText })),
      grade: oneOf('A', 'B', 'C', 'D', 'E'),
      tier: oneOf(2, 1, null),
      gradeIsFallback: flag,
      certificateUrl: fullUrl,
    }),
  )
}

/** Contract 2.5, 4.6. */
async function compactCard({ client }: Kit, did: string): Promise<Record<string, unknown>> {
  const answer = await client.get(`/api/v1/agent/${segment(did)}/card`)
  return expectBody(
    answer,
    200,
    object({
      displayName: someText,
      owner: object({ displayName: anyText, username: anyText }),
      verificationStatus: oneOf('verified', 'claim', 'unverified'),
      chatHandle: textLike(/^@[^@]/, 'a handle that is written with a leading @'),
      certificateUrl: fullUrl,
    }),
  )
}

export const CARD_CHECKS: readonly Check[] = [
  ofEachAgent('4.5', 'The full card has the fields of section 2.4', async (kit, { did }) => {
    const card = await fullCard(kit, did)
    const where = `GET /api/agents/${segment(did)}/card: ${kit.naming.didField}`
    expectEqual(where, card[kit.naming.didField], did)
  }),
  ofEachAgent('2.4', 'The full card and the lookup agree', async (kit, { did }) => {
    const card = await fullCard(kit, did)
    const { owner, certificate } = await lookup(kit, did)
    const where = `GET /api/agents/${segment(did)}/card`
    expectEqual(`${where}: status`, card.status, certificate.status)
    expectEqual(
      `${where}: claimedAt`,
      Date.parse(card.claimedAt as string),
      Date.parse(owner.claimedAt),
    )
    const isVerified = owner.identityMethod !== null
    if (isVerified === (card.verification !== null)) return
    const expected = isVerified
      ? 'an object, as the owner is verified'
      : 'null, as the owner is not verified'
    throw new Mismatch(`${where}: verification`, expected, isVerified ? 'null' : 'an object')
  }),
  ofEachAgent('2.4', 'tier and gradeIsFallback follow from the channels', async (kit, { did }) => {
    const { channels, tier, gradeIsFallback } = await fullCard(kit, did)
    const where = `GET /api/agents/${segment(did)}/card`
    const hasChannels = (channels as readonly unknown[]).length > 0
    expectShape(where, { tier }, object({ tier: hasChannels ? oneOf(2, 1) : oneOf(null) }))
    if (tier !== 1) expectEqual(`${where}: gradeIsFallback`, gradeIsFallback, false)
  }),
  ofEachAgent('2.4', 'certificateUrl and avatarUrl can be fetched', async (kit, { did }) => {
    const { avatarUrl, certificateUrl } = await fullCard(kit, did)
    for (const [name, url, accept] of [
      ['certificateUrl', certificateUrl, 'text/html'],
      ['avatarUrl', avatarUrl, 'image/*'],
    ] as const) {
      const { origin, pathname, search } = new URL(url as string)
      const where = `GET /api/agents/${segment(did)}/card: ${name}`
      // A picture may be served by another host, which is no part of the deployment.
      if (origin !== kit.client.origin && name === 'avatarUrl') continue
      expectEqual(where, origin, kit.client.origin)
      const page = await kit.client.page(pathname + search, accept)
      if (page.status === 404 || page.status >= 500) {
        throw new Mismatch(where, 'a URL that can be fetched', `status ${page.status}`)
      }
    }
  }),
  ofEachAgent('4.6', 'The compact card has the fields of section 2.5', async (kit, { did }) => {
    await compactCard(kit, did)
  }),
  ofEachAgent('2.5', 'Both cards agree', async (kit, { did }) => {
    const [full, compact] = [await fullCard(kit, did), await compactCard(kit, did)]
    const where = `GET /api/v1/agent/${segment(did)}/card`
    for (const name of ['displayName', 'certificateUrl']) {
      expectEqual(`${where}: ${name}`, compact[name], full[name])
    }
    const isVerified = full.status === 'active' && full.verification !== null
    const expected = isVerified ? oneOf('verified') : oneOf('claim', 'unverified')
    expectShape(where, compact, object({ verificationStatus: expected }))
  }),
]
