import {
  agentHeader,
  agentOf,
  get,
  inputHeader,
  otherTag,
  replacing,
  signatureHeader,
  threeComponents,
  withHeaders,
} from './requests.ts'
import { AGENT, keys, paramsOf, received, signing } from './signing.ts'

/** Signatures that cannot be read. */
export const MALFORMED = [
  {
    name: 'Signature alone',
    why: 'Signature-Input is missing',
    reason: 'malformed',
    request: replacing(agentHeader, signatureHeader),
  },
  {
    name: 'Signature-Input alone',
    why: 'Signature is missing',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader),
  },
  {
    name: 'Signature-Agent was removed',
    why: 'the covered field is missing',
    reason: 'malformed',
    request: replacing(inputHeader, signatureHeader),
  },
  {
    name: 'labels differ',
    why: 'Signature has no member of the label',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      signatureHeader[1].replace('sig1=', 'sig2='),
    ]),
  },
  {
    name: 'two signatures with the tag',
    why: 'exactly one has it',
    reason: 'malformed',
    request: replacing(
      agentHeader,
      ['Signature-Input', `${inputHeader[1]}, ${inputHeader[1].replace('sig1=', 'sig2=')}`],
      ['Signature', `${signatureHeader[1]}, ${signatureHeader[1].replace('sig1=', 'sig2=')}`],
    ),
  },
  {
    name: 'a repeated label',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, inputHeader, signatureHeader),
  },
  {
    name: 'a repeated label in Signature',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, ['Signature', 'sig1=:AAAA:'], signatureHeader),
  },
  {
    name: 'a repeated member of Signature-Agent',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: replacing(['Signature-Agent', 'sig1="https://a.example"'], ...get.headers),
  },
  {
    name: 'a repeated parameter',
    why: 'two readers could see different ones',
    reason: 'malformed',
    request: received(signing({ params: `;created=1${paramsOf(keys.agent)}` })),
  },
  {
    name: 'a repeated component',
    why: 'RFC 9421 section 2.5',
    reason: 'malformed',
    request: received(
      signing({
        components: [
          ['"@method"', 'GET'],
          ['"@method"', 'GET'],
          ['"@authority"', 'shop.example'],
          ['"@path"', '/orders'],
          [AGENT, `"${keys.agent.signatureAgent}"`],
        ],
      }),
    ),
  },
  {
    name: 'a component with parameters',
    why: 'only signature-agent has one',
    reason: 'malformed',
    request: received(
      signing({ components: [...threeComponents(), ['"@path";req', '/'], agentOf(keys.agent)] }),
    ),
  },
  {
    name: 'an unknown derived component',
    why: 'not supported',
    reason: 'malformed',
    request: received(
      signing({
        components: [...threeComponents(), ['"@query-param";name="id"', '1'], agentOf(keys.agent)],
      }),
    ),
  },
  {
    name: 'an inner list in Signature-Agent',
    why: 'a string belongs there',
    reason: 'malformed',
    request: received(signing({ agent: `sig1=("${keys.agent.signatureAgent}")` })),
  },
  {
    name: 'an inner list in Signature',
    why: 'bytes belong there',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, ['Signature', 'sig1=(:AAAA:)']),
  },
  {
    name: 'no inner list in Signature-Input',
    why: 'an inner list belongs there',
    reason: 'malformed',
    request: replacing(
      agentHeader,
      ['Signature-Input', `sig1="x"${paramsOf(keys.agent)}`],
      signatureHeader,
    ),
  },
  {
    name: 'parameters in Signature',
    why: 'none belong there',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, ['Signature', `${signatureHeader[1]};a=1`]),
  },
  {
    name: 'Signature-Agent has no member of the key',
    why: 'the key names another member',
    reason: 'malformed',
    request: received(signing({ agent: `sig2="${keys.agent.signatureAgent}"` })),
  },
  {
    name: 'Signature-Agent as a whole is covered, and has several members',
    why: 'without a key none of them is named',
    reason: 'malformed',
    request: received(
      signing({
        agent: 'a="https://a.example", b="https://b.example"',
        agentComponent: ['"signature-agent"', 'a="https://a.example", b="https://b.example"'],
      }),
    ),
  },
  {
    name: 'Signature-Agent is no structured field',
    why: 'it cannot be read',
    reason: 'malformed',
    request: received(
      signing({
        agent: 'https://agent.example',
        agentComponent: ['"signature-agent"', 'https://agent.example'],
      }),
    ),
  },
  {
    name: 'Signature-Input is no structured field',
    why: 'it cannot be read',
    reason: 'malformed',
    request: replacing(agentHeader, ['Signature-Input', 'sig1=("@method"'], signatureHeader),
  },
  {
    name: 'Signature-Agent over plain http',
    why: 'anybody on the way could replace the keys',
    reason: 'malformed',
    request: received(
      signing({
        agent: 'sig1="http://agent.example"',
        agentComponent: [AGENT, '"http://agent.example"'],
      }),
    ),
  },
  {
    name: 'Signature-Agent is not covered',
    why: 'somebody else could name another one',
    reason: 'malformed',
    request: received(signing({ components: threeComponents() })),
  },
  {
    name: 'a signature that is not canonical base64',
    why: 'one signature has one spelling',
    reason: 'malformed',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      signatureHeader[1].replace('==:', ':'),
    ]),
  },
  {
    name: 'a line break in a covered field',
    why: 'it could add a line to the base',
    reason: 'malformed',
    request: received(signing({ fields: [['Accept', 'a\n"@path": /']] })),
  },
  {
    name: 'five signatures',
    why: 'at most four',
    reason: 'limits',
    request: replacing(
      agentHeader,
      [
        'Signature-Input',
        ['a', 'b', 'c', 'd'].map((label) => `${label}=${otherTag}, `).join('') + inputHeader[1],
      ],
      signatureHeader,
    ),
  },
  {
    name: '33 components',
    why: 'at most 32',
    reason: 'limits',
    request: received(
      signing({
        components: [
          ...threeComponents(),
          ...Array.from({ length: 29 }, (_, i) => [`"x-${i}"`, '1'] as const),
          agentOf(keys.agent),
        ],
      }),
    ),
  },
  {
    name: 'a field of more than 8 KiB',
    why: 'at most 8 KiB',
    reason: 'limits',
    request: withHeaders(['X-Long', 'x'.repeat(8193)]),
  },
]
