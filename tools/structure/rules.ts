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

const HTTP = ['fastify', 'fastify-plugin', '@fastify', 'node:http', 'node:https', 'node:http2']
const SERVICE = ['protocol', 'storage', 'adapters', 'domain', 'config', 'main', 'top']

/** `protocol <- storage, adapters <- domain <- http <- main`, and the packages around the service. */
export const LAYERS: readonly Layer[] = [
  {
    name: 'protocol',
    files: 'packages/protocol/src/',
    imports: ['protocol'],
    packages: ['typebox', '@noble'],
    mend: 'protocol is pure and runs anywhere: hand the value in as a parameter',
  },
  {
    name: 'storage',
    files: 'packages/server/src/storage/',
    imports: ['protocol', 'storage'],
    mend: 'storage holds no policy: decide it in domain/, or hand it in as a parameter',
  },
  {
    name: 'adapters',
    files: 'packages/server/src/adapters/',
    imports: ['protocol', 'adapters'],
    mend: 'an adapter knows only the outside world: let domain/ join the two',
  },
  {
    name: 'domain',
    files: 'packages/server/src/domain/',
    imports: ['protocol', 'storage', 'adapters', 'domain'],
    never: HTTP,
    mend: 'the domain knows no HTTP: move that part to http/, or take it as a dependency',
  },
  {
    name: 'http',
    files: 'packages/server/src/http/',
    imports: ['protocol', 'domain', 'http', 'ui'],
    mend: 'call a function of domain/, and have it handed in by main.ts',
  },
  {
    name: 'operator',
    files: 'packages/server/src/operator/',
    imports: [...SERVICE, 'operator'],
    mend: 'a command starts the service through main.ts or calls domain/; it builds no routes',
  },
  {
    name: 'config',
    files: 'packages/server/src/config.ts',
    imports: ['protocol', 'parse-settings'],
    mend: 'settings are read before anything else exists: keep config.ts by itself',
  },
  {
    name: 'parse-settings',
    files: 'packages/server/src/parse-settings.ts',
    imports: ['protocol'],
    mend: 'it reads texts and knows nothing else: keep it by itself',
  },
  {
    name: 'main',
    files: 'packages/server/src/main.ts',
    imports: [...SERVICE, 'http', 'operator'],
    mend: 'the service stands on protocol and its own files',
  },
  {
    name: 'top',
    files: 'packages/server/src/',
    imports: [...SERVICE, 'http', 'operator'],
    mend: 'the service stands on protocol and its own files',
  },
  {
    name: 'server/bin',
    files: 'packages/server/bin/',
    imports: ['operator', 'config', 'main', 'top'],
    mend: 'an executable holds no logic: call operator/ or main.ts',
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

/** Names that do not belong in a directory. */
export const STRANGERS = [
  {
    files: 'packages/server/src/storage/',
    name: 'CodedError',
    why: 'storage holds no policy: return undefined, false or a row, and let domain/ refuse',
  },
]

/** Where `{ error: { …, requestId } }` may be built: nowhere else, so that every error has one shape. */
export const ENVELOPE = {
  within: 'packages/server/src/',
  allowed: ['packages/server/src/http/error-handler.ts'],
}

/** How long a file may be; the first row that fits counts. */
export const LINE_LIMITS = [
  { files: 'packages/server/src/http/routes/', lines: 80, what: 'a route' },
  { files: '', lines: 250, what: 'a file' },
]

/** Packages whose exported functions, classes and interfaces all have a doc comment. */
export const DOCUMENTED = ['packages/protocol/src/']

/** Directories whose files each need a row of their own in ARCHITECTURE.md. */
export const OWN_ROW = ['packages/server/src/domain/']
