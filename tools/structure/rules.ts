/**
 * A part of the repository, which packages and parts its files may import. Where parts overlap, the longest
 * `files` takes a file; what no part takes (tests, tools, bench) may import anything within its package.
 */
export interface Layer {
  readonly name: string
  /** A directory, with its slash, or one file; relative to the root. */
  readonly files: string
  /** Names of layers, its own among them. */
  readonly imports: readonly string[]
  /** The only packages it may import, `node:` modules among them; `x` and all below `x/`. Without it: any. */
  readonly packages?: readonly string[]
  /** Packages that it may not import. */
  readonly never?: readonly string[]
  /** What to do instead of an import that is not allowed. */
  readonly mend: string
}

/** The rooms of packages/server/src. A room may import itself and those before it; `service` puts all of them together. */
export const ROOMS = [
  'base',
  'database',
  'secrets',
  'http',
  'accounts',
  'agents',
  'channels',
  'log',
  'statements',
  'webhooks',
  'pages',
  'service',
] as const

/** How many pairs of rooms may import each other, one way. */
export const MOST_ARROWS = 60

/**
 * How much code a part of the repository may have. A capability raises a bar by what it needs, in its own commit: last the feed's chain,
 * renouncing and reports of keys, joins, recovery and mirrors of the log, erasure, nonce stores that have just started, archives of keys for
 * another node, notices of new access, claims in names, claims that agents repeat, tools for three frameworks, plain answers of cards and
 * documents, claims' places in the log, checks beside the answers, pages of examples, a certificate page that answers first,
 * a page that takes signed requests apart, a start page whose sample signs, bulk changes and orders of an owner's agents, the account's tabs and tables,
 * chains of delegations and what ends them, groups of delegations with a status of their own, organisations, transfers of agents.
 */
export const BARS: readonly {
  readonly within: RegExp
  readonly mostFiles?: number
  readonly mostLines: number
}[] = [
  { within: /^packages\/server\/src\//, mostFiles: 700, mostLines: 81_000 },
  // The lists of parts and of effects, and what registers, runs and closes them.
  { within: /^packages\/server\/src\/service\/[^/]+\.ts$/, mostLines: 760 },
  { within: /^packages\/[a-z]+\/src\//, mostLines: 145_000 },
]

/** Files with a name of one pattern, and what they may not import (specifiers, type imports included). */
interface FileKind {
  readonly name: string
  readonly files: RegExp
  readonly never: readonly RegExp[]
  readonly mend: string
}

/** The service and the packages around it. */
export const LAYERS: readonly Layer[] = [
  {
    name: 'protocol',
    files: 'packages/protocol/src/',
    imports: ['protocol'],
    packages: ['typebox', '@noble'],
    mend: 'protocol is pure and runs anywhere: hand the value in as a parameter',
  },
  ...ROOMS.map((room, index) => ({
    name: `server/${room}`,
    files: `packages/server/src/${room}/`,
    imports: [
      'protocol',
      'ui',
      // The console shows what a gateway decides, by the gateway's own code.
      ...(room === 'pages' ? ['gateway'] : []),
      ...ROOMS.slice(0, index + 1).map((each) => `server/${each}`),
    ],
    mend: 'import only from rooms above it in ARCHITECTURE.md: move the shared part up, or take it as a parameter',
  })),
  {
    name: 'server/main',
    files: 'packages/server/src/main.ts',
    imports: ROOMS.map((each) => `server/${each}`),
    mend: 'main.ts starts a command and holds no logic',
  },
  {
    name: 'server/bin',
    files: 'packages/server/bin/',
    imports: ['server/base', 'server/service', 'server/main'],
    mend: 'an executable holds no logic: call service/cli/ or main.ts',
  },
  {
    name: 'cli',
    files: 'packages/cli/src/',
    imports: ['protocol', 'sdk', 'cli'],
    mend: 'the CLI uses a service through @countersign/sdk',
  },
  {
    name: 'cli/bin',
    files: 'packages/cli/bin/',
    imports: ['cli'],
    mend: 'an executable holds no logic: call src/',
  },
  {
    name: 'sdk',
    files: 'packages/sdk/src/',
    imports: ['protocol', 'sdk'],
    mend: 'the SDK uses a service over HTTP: take the wire schemas of @countersign/protocol',
  },
  {
    name: 'gateway',
    files: 'packages/gateway/src/',
    imports: ['protocol', 'sdk', 'gateway'],
    mend: 'a gateway speaks to a service through @countersign/sdk',
  },
  {
    name: 'ui',
    files: 'packages/ui/src/',
    imports: ['protocol', 'ui'],
    packages: ['react'],
    mend: 'ui is what pages look like: hand the data in as properties',
  },
  {
    name: 'dashboard',
    files: 'packages/dashboard/src/',
    imports: ['protocol', 'ui', 'dashboard'],
    mend: 'the dashboard speaks to a service over HTTP: use the wire schemas of @countersign/protocol',
  },
]

/** The workspace's packages: `@countersign/x` stands in packages/x. */
export const SCOPE = '@countersign/'

/** Identifiers that code in a directory must not use. */
export const FORBIDDEN_IDENTIFIERS = [
  {
    files: /^packages\/server\/src\/(database\/|.*-table\.ts$)/,
    name: 'CodedError',
    why: 'tables hold no policy: return undefined, false or a row, and let the rules refuse',
  },
  ...[
    'appendAgentEvent',
    'insertQueued',
    'replaceCurrentKey',
    'setDirectoryProof',
    'setGrade',
    'touchAgent',
    'updateProfileColumns',
    'updateStatus',
  ].map((name) => ({
    files: outside(
      /agents\/changes\/|agents\/claims\/|agents\/.*-table\.ts$|database\/event-table/,
    ),
    name,
    why: 'change the agent by changeAgent, so that the log, the status lists and the owner learn of it',
  })),
  ...['setEntry', 'replaceEntry'].map((name) => ({
    files: outside(/agents\/changes\/|statements\/status-lists\/status-entries\.ts$/),
    name,
    why: 'change the agent by changeAgent, which revises its status entry',
  })),
]

/** Files of the server without those whose path there matches. */
function outside(paths: RegExp): RegExp {
  return new RegExp(`^packages/server/src/(?!${paths.source})`)
}

/** What a file may import by the kind of its name, within the capabilities of the server; the first row that fits counts. */
export const FILE_KINDS: readonly FileKind[] = [
  {
    name: 'routes',
    files: /-routes\.ts$/,
    never: [/^kysely$/, /-table\.ts$/],
    mend: 'call a function of the rules, which reads and writes the table',
  },
  {
    name: 'a part',
    files: /\/part\.ts$/,
    never: [/^kysely$/, /-table\.ts$/],
    mend: 'a part opens and wires its room: call a function of the rules, which reads and writes the table',
  },
  {
    name: 'a table',
    files: /-table\.ts$/,
    never: [/^fastify$/, /^@fastify\//, /-routes\.ts$/],
    mend: 'a table knows rows: let the routes call the rules, and the rules the table',
  },
  {
    name: 'a rule',
    files: /\.ts$/,
    never: [/^fastify$/, /^@fastify\//, /-routes\.ts$/],
    mend: 'rules know no HTTP: move that part to the routes, or take it as a parameter',
  },
]

/** Where FILE_KINDS applies: the rooms of capabilities, without adapters and views. */
export const CAPABILITIES = {
  within: [
    ...ROOMS.slice(ROOMS.indexOf('accounts'), ROOMS.indexOf('service')),
    'service/privacy',
  ].map((folder) => `packages/server/src/${folder}/`),
  except: ['packages/server/src/accounts/providers/', 'packages/server/src/pages/views/'],
}

/** Where `{ error: { …, requestId } }` may be built: nowhere else, so that every error has one shape. */
export const ENVELOPE = {
  within: 'packages/server/src/',
  allowed: ['packages/server/src/http/error-handler.ts'],
}

/** Packages whose exported functions, classes and interfaces all have a doc comment. */
export const DOCUMENTED = ['packages/protocol/src/']
