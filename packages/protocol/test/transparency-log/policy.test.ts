import assert from 'node:assert/strict'
import { test } from 'node:test'
import sodium from 'sodium-native'
import {
  cosignatureMessage,
  formatCheckpoint,
  formatCosignature,
  formatNote,
  formatVerifierKey,
  isQuorum,
  type NoteKey,
  type NoteKeyType,
  noteKeyId,
  openByPolicy,
  PolicyError,
  parsePolicy,
  utf8,
} from '../../src/index.ts'

interface Signer {
  readonly key: NoteKey
  readonly vkey: string
  sign(message: Uint8Array): Uint8Array
}

function signer(name: string, type: NoteKeyType): Signer {
  const [publicKey, secretKey] = [Buffer.alloc(32), Buffer.alloc(64)]
  sodium.crypto_sign_keypair(publicKey, secretKey)
  const key = { name, type, publicKey: Uint8Array.from(publicKey) }
  return {
    key,
    vkey: formatVerifierKey(key),
    sign(message) {
      const signature = Buffer.alloc(64)
      sodium.crypto_sign_detached(signature, Buffer.from(message), secretKey)
      return signature
    },
  }
}

function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const [m, key] = [Buffer.from(message), Buffer.from(publicKey)]
  return sodium.crypto_sign_verify_detached(Buffer.from(signature), m, key)
}

const log = signer('log.example/log/1', 'ed25519')
const [x1, x2, x3, y1, y2] = ['x1', 'x2', 'x3', 'y1', 'y2'].map((name) =>
  signer(`${name}.example`, 'cosignature'),
) as [Signer, Signer, Signer, Signer, Signer]

const witnesses = `
witness X1 ${x1.vkey} https://x1.example/w
witness X2 ${x2.vkey}
\twitness\tX3  ${x3.vkey}  
witness Y1 ${y1.vkey}
witness Y2 ${y2.vkey}
`
const text = `# An example
log ${log.vkey} https://log.example/log
${witnesses}
group X 2 X1 X2 X3
  # Another organization
group Y any Y1 Y2
group X-and-Y all X Y
quorum X-and-Y
`

const checkpoint = formatCheckpoint({ origin: log.key.name, size: 7, root: new Uint8Array(32) })

function cosigned(by: readonly Signer[], { time = 1_700_000_000, of = checkpoint } = {}): string {
  const own = { name: log.key.name, keyId: noteKeyId(log.key), signature: log.sign(utf8(of)) }
  const others = by.map(({ key, sign }) => ({
    name: key.name,
    keyId: noteKeyId(key),
    signature: formatCosignature(time, sign(cosignatureMessage(of, time))),
  }))
  return formatNote({ text: of, signatures: [own, ...others] })
}

test('a policy is read as C2SP tlog-policy defines it', () => {
  const policy = parsePolicy(text)
  assert.deepEqual(
    policy.logs.map(({ key, url }) => [key.name, url]),
    [['log.example/log/1', 'https://log.example/log']],
  )
  assert.deepEqual(
    policy.witnesses.map(({ name, key, url }) => [name, key.name, url]),
    [
      ['X1', 'x1.example', 'https://x1.example/w'],
      ['X2', 'x2.example', null],
      ['X3', 'x3.example', null],
      ['Y1', 'y1.example', null],
      ['Y2', 'y2.example', null],
    ],
  )
  assert.deepEqual(policy.groups, [
    { name: 'X', threshold: 2, members: ['X1', 'X2', 'X3'] },
    { name: 'Y', threshold: 1, members: ['Y1', 'Y2'] },
    { name: 'X-and-Y', threshold: 2, members: ['X', 'Y'] },
  ])
  assert.equal(policy.quorum, 'X-and-Y')
  assert.equal(parsePolicy('quorum none').quorum, null)
  // Names are compared as they are: the Kelvin sign is not K.
  const kelvin = `witness K ${x1.vkey}\nwitness \u212a ${x2.vkey}\nquorum \u212a\n`
  assert.equal(parsePolicy(kelvin).witnesses.length, 2)
})

test('a quorum counts each witness once, and groups of groups', () => {
  const policy = parsePolicy(text)
  for (const [names, expected] of [
    [['X1', 'X2', 'Y1'], true],
    [['X1', 'X3', 'Y2'], true],
    [['X1', 'X2', 'X3'], false],
    [['X1', 'Y1', 'Y2'], false],
    [['X1', 'X1', 'Y1'], false],
    // The name of a group or of a stranger is no witness.
    [['X-and-Y'], false],
    [['X', 'Y'], false],
    [['somebody'], false],
    [[], false],
  ] as const) {
    assert.equal(isQuorum(policy, names), expected, names.join())
  }
  assert.ok(isQuorum(parsePolicy(`${witnesses}quorum X1`), ['X1']))
  assert.ok(!isQuorum(parsePolicy(`${witnesses}quorum X1`), ['X2']))
  assert.ok(isQuorum(parsePolicy('quorum none'), []))
})

test('a malformed policy is refused, with the line', () => {
  const w = `witness A ${x1.vkey}\n`
  const alias = formatVerifierKey({ ...x1.key, name: 'alias.example' })
  for (const [wrong, message] of [
    ['', /no line "quorum"/],
    [w, /no line "quorum"/],
    [`${w}quorum B`, /Line 2.*"B" is not defined/],
    [`quorum A\n${w}`, /Line 1.*"A" is not defined/],
    [`${w}quorum A\nquorum A`, /Line 3.*a quorum already/],
    [`${w}quorum`, /one name/],
    [`${w}quorum A A`, /one name/],
    [`${w}witness A ${x2.vkey}\nquorum A`, /Line 2.*"A" is defined already/],
    [`${w}witness B ${x1.vkey}\nquorum A`, /Line 2.*key of the witness is there already/],
    [`${w}witness B ${alias}\nquorum A`, /Line 2.*key of the witness is there already/],
    [`witness none ${x1.vkey}\nquorum none`, /"none" cannot be/],
    [`witness A ${log.vkey}\nquorum A`, /Ed25519 cosignatures/],
    [`witness A ${x1.vkey} https://x/ more\nquorum A`, /too many words/],
    [`witness A\nquorum A`, /Ed25519 cosignatures/],
    [`log ${x1.vkey}\nquorum none`, /verifier key of Ed25519/],
    [`log ${log.vkey}\nlog ${log.vkey}\nquorum none`, /Line 2.*log is there already/],
    [`log ${log.vkey} https://x/ more\nquorum none`, /too many words/],
    [`log\nquorum none`, /verifier key/],
    [`${w}group G any\nquorum G`, /no members/],
    [`${w}group G 0 A\nquorum G`, /from 1 to 1/],
    [`${w}group G 2 A\nquorum G`, /from 1 to 1/],
    [`${w}group G 01 A\nquorum G`, /from 1 to 1/],
    [`${w}group G some A\nquorum G`, /from 1 to 1/],
    [`${w}group G any A A\nquorum G`, /"A" is a member already/],
    [`${w}group G any A\ngroup H any A\nquorum H`, /Line 3.*"A" is a member already/],
    [`${w}group G any G\nquorum G`, /"G" is not defined/],
    [`${w}group G any none\nquorum G`, /"none" is not defined/],
    [`${w}group A any A\nquorum A`, /"A" is defined already/],
    [`${w}witnesses A\nquorum A`, /begins with none/],
    [`${w}quorum A\r\n`, /Line 2.*control character/],
    [`${w}quorum A\u007f`, /control character/],
    [`${w}quorum A\u00a0`, /not defined/],
    [`# ${'x'.repeat(70_000)}\nquorum none`, /too long/],
  ] as const) {
    assert.throws(
      () => parsePolicy(wrong),
      (error) => error instanceof PolicyError && message.test(error.message),
      wrong.slice(0, 200),
    )
  }
})

test('a checkpoint satisfies a policy if its log has signed it and the quorum has cosigned it', async () => {
  const policy = parsePolicy(text)
  const open = (signed: string, by = policy) => openByPolicy(signed, by, verify)
  const opened = await open(cosigned([x1, x3, y2]))
  assert.equal(opened?.checkpoint.size, 7)
  assert.equal(opened?.key.name, log.key.name)
  assert.deepEqual(
    opened?.cosignatures.map(({ witness, time }) => [witness.name, time]),
    [
      ['X1', 1_700_000_000],
      ['X3', 1_700_000_000],
      ['Y2', 1_700_000_000],
    ],
  )
  assert.equal(await open(cosigned([])), null)
  assert.equal(await open(cosigned([x1, y1])), null)
  assert.ok(await open(cosigned([]), { ...policy, quorum: null }))
  assert.equal(await open(cosigned([x1, x2, y1]), { ...policy, logs: [] }), null)
  assert.equal(await open('x'), null)
})

test('a cosignature of other text, at another time, by another key, or by the log itself does not count', async () => {
  const policy = parsePolicy(`log ${log.vkey}\nwitness A ${x1.vkey}\nquorum A\n`)
  const open = (signed: string) => openByPolicy(signed, policy, verify)
  assert.ok(await open(cosigned([x1])), 'the control')
  const other = checkpoint.replace('\n7\n', '\n8\n')
  const moved = `${cosigned([]).split('\n\n')[0]}\n\n${cosigned([]).split('\n\n')[1]}${cosigned([x1], { of: other }).split('\n').at(-2)}\n`
  assert.equal(await open(moved), null)
  const signature = x1.sign(cosignatureMessage(checkpoint, 5))
  for (const [time, name, keyId, by] of [
    [6, x1.key.name, noteKeyId(x1.key), x1],
    [5, x1.key.name, noteKeyId(x1.key), y1],
    [5, 'x2.example', noteKeyId(x1.key), x1],
    [5, x1.key.name, noteKeyId(y1.key), x1],
  ] as const) {
    const own = {
      name: log.key.name,
      keyId: noteKeyId(log.key),
      signature: log.sign(utf8(checkpoint)),
    }
    const bytes = by === x1 ? signature : y1.sign(cosignatureMessage(checkpoint, 5))
    const line = { name, keyId, signature: formatCosignature(time, bytes) }
    assert.equal(await open(formatNote({ text: checkpoint, signatures: [own, line] })), null)
  }
  // The log's own key as a witness has the type of a log.
  assert.throws(() => parsePolicy(`log ${log.vkey}\nwitness A ${log.vkey}\nquorum A`), PolicyError)
})
