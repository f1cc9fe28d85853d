import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { EnrolmentRule } from '@countersign/protocol'
import parsers from '@stoplight/spectral-parsers'
import {
  changesOf,
  draftErrors,
  draftOf,
  newRuleOf,
  type RuleDraft,
} from '../packages/dashboard/src/pages/enrolment/draft.ts'
import {
  PLATFORM_IDS,
  type PlatformId,
  PRESETS,
  platformOf,
} from '../packages/dashboard/src/pages/enrolment/presets.ts'
import {
  durationText,
  WHO_CAN_ENROL,
} from '../packages/dashboard/src/pages/enrolment/rule-texts.ts'
import { setupOf } from '../packages/dashboard/src/pages/enrolment/setup-texts.ts'
import { newOwner, newRule, RULES } from '../packages/server/test/agents/enrolment/with-rules.ts'
import { jsonOf } from './support/answer.ts'
import { newPlatform } from './support/platform.ts'
import { startTestService } from './support/service.ts'

/** What an owner fills in for each platform. The keys are pasted, since no platform can be reached here. */
const FILLED_IN: Readonly<Record<PlatformId, Partial<RuleDraft> & { readonly values: string[] }>> =
  {
    kubernetes: {
      issuer: 'https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE',
      values: ['system:serviceaccount:crawl:crawler'],
    },
    github: { values: ['74', 'refs/heads/main\nrefs/heads/next'] },
    gitlab: { values: ['20', 'true'] },
    gcp: { values: ['110169484474386276334'] },
    spiffe: { trustDomain: 'example.org', values: ['spiffe://example.org/crawler'] },
  }

const { jwks } = newPlatform()
const KEYS = { keys: 'jwks', jwks: JSON.stringify(jwks) } as const

function filledIn(platform: PlatformId): RuleDraft {
  const { values, ...fields } = FILLED_IN[platform]
  const { draft } = PRESETS[platform]
  const match = draft.match.map((claim, i) => ({ ...claim, values: values[i] ?? '' }))
  return { ...draft, ...fields, ...KEYS, match, name: platform, agentId: 'crawler' }
}

test('each preset says what is missing, and the service accepts what is filled in', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  for (const platform of PLATFORM_IDS) {
    const empty = draftErrors(PRESETS[platform].draft)
    assert.deepEqual(
      [empty?.fields.name, empty?.fields.agentId],
      ['Enter a name.', 'Enter a label.'],
    )
    assert.equal(empty?.claims.get(0)?.values, 'Enter a value.', platform)
    const draft = filledIn(platform)
    assert.equal(draftErrors(draft), null, platform)
    const rule = await newRule(owner, newRuleOf(draft))
    assert.equal(platformOf(rule), platform)
    assert.equal(rule.binding, PRESETS[platform].draft.binding)
    // The form of a rule holds what the rule has.
    const again = draftOf(rule)
    assert.equal(draftErrors(again), null, platform)
    const saved = await owner.send('PATCH', `${RULES}/${rule.id}`, changesOf(again))
    const { match, keys, profile, maxTokenSeconds } = jsonOf<EnrolmentRule>(saved)
    assert.deepEqual(
      { match, keys, profile, maxTokenSeconds },
      {
        match: rule.match,
        keys: rule.keys,
        profile: rule.profile,
        maxTokenSeconds: rule.maxTokenSeconds,
      },
    )
  }
})

test('the form names the pins of known issuers, and keeps the types of claims', () => {
  const github = filledIn('github')
  const match = github.match.slice(0, 1)
  assert.match(draftErrors({ ...github, match })?.fields.match ?? '', /\/environment, \/ref/)
  const twice = [...github.match, { ...github.match[0], row: 7 } as RuleDraft['match'][number]]
  assert.match(
    draftErrors({ ...github, match: twice })?.claims.get(7)?.pointer ?? '',
    /listed twice/,
  )
  const typed = [{ row: 0, pointer: '/flag', type: 'false', values: '' }] as const
  const draft = { ...filledIn('kubernetes'), match: typed }
  assert.equal(draftErrors(draft), null)
  assert.deepEqual(newRuleOf(draft).match, { '/flag': false })
  assert.deepEqual(newRuleOf(github).match['/ref'], ['refs/heads/main', 'refs/heads/next'])
  const wrong = {
    ...draft,
    maxLive: '1.5',
    maxTokenMinutes: '4',
    jwks: '[]',
    labelFrom: 'claim',
  } as const
  assert.deepEqual(Object.keys(draftErrors(wrong)?.fields ?? {}), [
    'jwks',
    'agentIdClaim',
    'maxLive',
    'maxTokenMinutes',
  ])
})

/** @throws AssertionError if it is no YAML */
// biome-ignore lint/suspicious/noExplicitAny: asserted by the tests
function parse(text = ''): any {
  const { data, diagnostics } = parsers.Yaml.parse(text)
  assert.deepEqual(diagnostics, [])
  return data
}

const SERVICE = {
  baseUrl: 'https://id.example',
  cliPackage: 'https://id.example/packages/countersign.tgz',
}

function ruleOf(platform: PlatformId, more: Partial<RuleDraft> = {}): EnrolmentRule {
  const id = `er_${'1'.repeat(22)}`
  const created = newRuleOf({ ...filledIn(platform), ...more })
  return { ...created, id, audience: `https://id.example/enrol/${id}` } as EnrolmentRule
}

test('the texts to copy are of the rule, and their YAML says what the platforms read', () => {
  for (const platform of PLATFORM_IDS) {
    const rule = ruleOf(platform)
    const { title, texts } = setupOf(rule, SERVICE)
    assert.equal(title, `Set up ${PRESETS[platform].name}`)
    const all = texts.map(({ text }) => text.replaceAll(/["\\\s]+/g, ' ')).join('\n')
    const command = `npx -y ${SERVICE.cliPackage} enrol --service https://id.example --rule ${rule.id} --key`
    assert.ok(all.replaceAll(/ - /g, ' ').includes(command), `${platform}: ${all}`)
  }
  const [pod] = setupOf(ruleOf('kubernetes', { maxTokenMinutes: '5' }), SERVICE).texts
  const { spec } = parse(pod?.text)
  assert.equal(spec.serviceAccountName, 'crawler')
  assert.deepEqual(spec.volumes[0].projected.sources[0].serviceAccountToken, {
    path: 'token',
    audience: ruleOf('kubernetes').audience,
    expirationSeconds: 600,
  })
  assert.deepEqual(spec.containers[0].command.slice(-4), [
    '--token-file',
    '/var/run/secrets/countersign/token',
    '--hold',
    '--end-on-exit',
  ])
  const environment = {
    row: 9,
    pointer: '/environment',
    type: 'text',
    values: 'prod: "x"',
  } as const
  const [workflow] = setupOf(
    ruleOf('github', { match: [...filledIn('github').match, environment] }),
    SERVICE,
  ).texts
  const { agent } = parse(workflow?.text).jobs
  assert.equal(agent.environment, 'prod: "x"')
  assert.deepEqual(agent.permissions, { 'id-token': 'write', contents: 'read' })
  assert.equal(
    agent.steps[0].run,
    `npx -y ${SERVICE.cliPackage} enrol --service https://id.example --rule er_${'1'.repeat(22)} --key agent.pem --create-key --github`,
  )
  const [pipeline] = setupOf(ruleOf('gitlab'), SERVICE).texts
  const job = parse(pipeline?.text).agent
  assert.equal(job.id_tokens.COUNTERSIGN_TOKEN.aud, ruleOf('gitlab').audience)
  assert.match(job.script[1], /--token-file token$/)
  assert.match(setupOf(ruleOf('gitlab', { binding: 'key' }), SERVICE).lead, /binding “token”/)
  assert.equal(
    setupOf(ruleOf('gcp', { issuer: 'https://other.example' }), SERVICE).title,
    'Set up the platform',
  )
})

test('page and documentation say who can enrol in the same words', () => {
  const docs = readFileSync(new URL('../docs/enrolment.md', import.meta.url), 'utf8')
  assert.ok(docs.replaceAll(/\s+/g, ' ').includes(WHO_CAN_ENROL))
  assert.deepEqual([60, 5400, 3600, 172_800].map(durationText), [
    '1 minute',
    '90 minutes',
    '1 hour',
    '2 days',
  ])
})
