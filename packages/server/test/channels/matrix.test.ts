import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SitePage, startHttpsSite } from '../../../../test/support/https-site.ts'
import {
  assertProves,
  assertProvesNothing,
  assertReason,
  assertTokenKept,
  chatScene,
  json,
  textOf,
  UNREADABLE,
} from './support/chat-scene.ts'

const ID = '@travel/desk:example.com'
const WELL_KNOWN = '/.well-known/matrix/client'
const PROFILE = '/_matrix/client/v3/profile/%40travel%2Fdesk%3Aexample.com'

const discovery = (base: unknown) =>
  json({
    'm.homeserver': { base_url: base },
    'm.identity_server': { base_url: 'https://vector.im' },
  })

const failure = (status: number, errcode: string, error: string) => json({ errcode, error }, status)

async function scene(t: TestContext) {
  const server = await startHttpsSite(t, ['example.com'])
  const api = await startHttpsSite(t, ['matrix.example.com'])
  server.serve(WELL_KNOWN, discovery('https://matrix.example.com/'))
  return {
    ...(await chatScene(t, [server, api])),
    server,
    api,
    serve: (page: SitePage) => api.serve(PROFILE, page),
  }
}

test('a text in the display name proves an account on Matrix, where its server says the API is', async (t) => {
  const { server, api, serve, ...rest } = await scene(t)
  await rest.agent.refuses('matrix', '@travel:example.com:8448')
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
  assertTokenKept([server, api], textOf(channel))
})

test('any text of the profile proves it, and a server that says nothing is its own API', async (t) => {
  const { server, ...rest } = await scene(t)
  const channel = await rest.agent.add('matrix', ID)
  server.serve(WELL_KNOWN, null)
  const fields = { 'm.tz': 'Europe/Berlin', 'org.example.numbers': [1, {}] }
  server.serve(PROFILE, json({ ...fields, 'org.example.bio': textOf(channel) }))
  await assertProves(rest, channel, ID)
})

test('what a Matrix server answers otherwise proves nothing', async (t) => {
  const { serve, agent, newcomer } = await scene(t)
  const channel = await agent.add('matrix', ID)
  const other = textOf(await (await newcomer()).add('matrix', ID))
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

test('a server that does not say where its API is, or names a place that is not looked at', async (t) => {
  const { server, api, serve, agent } = await scene(t)
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
  const { 'a page in the place of the API': _ignored, ...unreadable } = UNREADABLE
  await assertProvesNothing(agent, channel, (page) => server.serve(WELL_KNOWN, page), {
    absent: {},
    unreachable: {
      ...unreadable,
      ...Object.fromEntries(places.map((place) => [String(place), () => discovery(place)])),
    },
  })
  assert.deepEqual(api.requests, [])
})

/** A profile may have a field of any name, and none of the text. */
function except(name: string) {
  const { [name]: _ignored, ...others } = UNREADABLE
  return others
}

test('an owner reads that a server shows profiles to its own alone', async (t) => {
  const { serve, agent } = await scene(t)
  const channel = await agent.add('matrix', ID)
  for (const status of [401, 403]) {
    serve({ status, body: '{}' })
    await assertReason(agent, channel, /does not show .*profiles to everybody/)
  }
})
