import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SitePage, startHttpsSite } from '../../../../test/support/https-site.ts'
import {
  assertProves,
  assertProvesNothing,
  assertReason,
  assertTokenNotSent,
  json,
  startChatFixture,
  textOf,
  UNUSABLE,
} from './support/chat-fixture.ts'

const ID = '@travel/desk:example.com'
const WELL_KNOWN = '/.well-known/matrix/client'
const PROFILE = '/_matrix/client/v3/profile/%40travel%2Fdesk%3Aexample.com'

const discovery = (base: unknown) =>
  json({
    'm.homeserver': { base_url: base },
    'm.identity_server': { base_url: 'https://vector.im' },
  })

const failure = (status: number, errcode: string, error: string) => json({ errcode, error }, status)

async function startWithChat(t: TestContext) {
  const server = await startHttpsSite(t, ['example.com'])
  const api = await startHttpsSite(t, ['matrix.example.com'])
  server.serve(WELL_KNOWN, discovery('https://matrix.example.com/'))
  return {
    ...(await startChatFixture(t, [server, api])),
    server,
    api,
    serve: (page: SitePage) => api.serve(PROFILE, page),
  }
}

test('a text in the display name proves an account on Matrix, read from the discovered API', async (t) => {
  const { server, api, serve, ...rest } = await startWithChat(t)
  await rest.agent.assertHandleRefused('matrix', '@travel:example.com:8448')
  const channel = await rest.agent.add(
    'matrix',
    'https://matrix.to/#/%40travel%2Fdesk%3AExample.com',
  )
  assert.deepEqual(
    [channel.handleOrDomain, channel.link],
    [ID, 'https://matrix.to/#/%40travel%2Fdesk%3Aexample.com'],
  )
  const avatar_url = 'mxc://example.com/SDGdghriugerRg'
  serve(json({ avatar_url, displayname: `Travel desk ${textOf(channel)}` }))
  await assertProves(rest, channel, ID)
  assert.ok(server.requests.every(({ url }) => url === WELL_KNOWN))
  assert.ok(api.requests.every(({ url }) => url === PROFILE))
  assertTokenNotSent([server, api], textOf(channel))
})

test('a text in any profile field proves it, and a server without a discovery file serves the API itself', async (t) => {
  const { server, ...rest } = await startWithChat(t)
  const channel = await rest.agent.add('matrix', ID)
  server.serve(WELL_KNOWN, null)
  const fields = { 'm.tz': 'Europe/Berlin', 'org.example.numbers': [1, {}] }
  server.serve(PROFILE, json({ ...fields, 'org.example.bio': textOf(channel) }))
  await assertProves(rest, channel, ID)
})

test('no other response of a Matrix server proves anything', async (t) => {
  const { serve, agent, otherOwnersAgent } = await startWithChat(t)
  const channel = await agent.add('matrix', ID)
  const other = textOf(await (await otherOwnersAgent()).add('matrix', ID))
  await assertProvesNothing(agent, channel, serve, {
    absent: {
      'no profile': () => json({}),
      'another name': () => json({ displayname: 'Travel desk' }),
      'a name of another type': (text) => json({ displayname: [text], [text]: null }),
      'part of a longer word': (text) => json({ displayname: `desk-${text}` }),
      'another agent’s text': () => json({ displayname: other }),
      nobody: () => failure(404, 'M_NOT_FOUND', 'Profile not found'),
    },
    unreachable: {
      'a server that shows it to friends': () =>
        failure(401, 'M_MISSING_TOKEN', 'Missing access token'),
      'a server that shows it to nobody': () =>
        failure(403, 'M_FORBIDDEN', 'Profile lookup is disabled on this homeserver'),
      'an address that is not known': () => failure(404, 'M_UNRECOGNIZED', 'Unrecognized request'),
      'a list': (text) => json([text]),
      ...except('nothing of its own'),
    },
  })
})

test('a discovery file without a usable API address makes the server unreachable', async (t) => {
  const { server, api, serve, agent } = await startWithChat(t)
  const channel = await agent.add('matrix', ID)
  serve(json({ displayname: textOf(channel) }))
  const places = [
    'http://matrix.example.com',
    'https://matrix.example.com:8448',
    'https://user:password@matrix.example.com',
    'https://matrix.example.com/?x=',
    'https://matrix.example.com/#x',
    'https://127.0.0.1',
    'https://localhost',
    'matrix.example.com',
    `https://matrix.example.com/${'x'.repeat(600)}`,
    '',
    7,
    null,
  ]
  const { 'a page in the place of the API': _ignored, ...unreadable } = UNUSABLE
  await assertProvesNothing(agent, channel, (page) => server.serve(WELL_KNOWN, page), {
    absent: {},
    unreachable: {
      ...unreadable,
      ...Object.fromEntries(places.map((place) => [String(place), () => discovery(place)])),
    },
  })
  assert.deepEqual(api.requests, [])
})

/** The shared cases except one: Matrix profiles may have fields of any name. */
function except(name: string) {
  const { [name]: _ignored, ...others } = UNUSABLE
  return others
}

test('the owner sees that a server hides profiles from other servers', async (t) => {
  const { serve, agent } = await startWithChat(t)
  const channel = await agent.add('matrix', ID)
  for (const status of [401, 403]) {
    serve({ status, body: '{}' })
    await assertReason(agent, channel, /does not show .*profiles to everybody/)
  }
})
