/** A package that is published: what its dist/ is made of. */
export interface PublishedPackage {
  /** Its directory in packages/. */
  readonly name: string
  /** Its name in npm's registry. */
  readonly publishedName: string
  /** The modules in src/ that `exports` names; none for a command alone. */
  readonly entries: readonly string[]
  /** The module in src/ that the command runs, if there is one. */
  readonly command: string | null
  /** Whether the command is one file with everything in it, instead of a file for each module. */
  readonly isBundle: boolean
  /** Packages of the workspace that become a part of it, by specifier: their directories in packages/. */
  readonly bundled: Readonly<Record<string, string>>
  /** What npm installs with it, out of the manifests of the workspace. */
  readonly dependencies: readonly string[]
  /** Packages whose types its users have installed already. */
  readonly peers: readonly string[]
}

/** A tarball or wheel, as /packages/index.json lists it. */
export interface PackedPackage {
  /** Its name in the directory, such as `countersign-sdk-1.2.3.tgz`. */
  readonly file: string
  readonly version: string
  /** In bytes. */
  readonly size: number
  /** Lower-case hexadecimal, as `sha512sum` prints it. */
  readonly sha512: string
}

const CURVES = ['@noble/curves', '@noble/hashes']

/** In the order of /packages/index.json. All contain the used parts of @countersign/protocol. */
export const PUBLISHED_PACKAGES: readonly PublishedPackage[] = [
  {
    name: 'cli',
    publishedName: 'countersign',
    entries: [],
    command: 'main',
    isBundle: true,
    bundled: {},
    dependencies: [],
    peers: [],
  },
  {
    name: 'sdk',
    publishedName: '@countersign/sdk',
    entries: ['index', 'ai-sdk', 'langchain', 'node', 'openai-agents'],
    command: null,
    isBundle: false,
    bundled: {},
    dependencies: CURVES,
    peers: ['@langchain/core', '@openai/agents', 'ai', 'zod'],
  },
  {
    name: 'gateway',
    publishedName: '@countersign/gateway',
    entries: ['index', 'express', 'fastify', 'fetch', 'hono', 'workers'],
    command: 'forward-auth/main',
    isBundle: false,
    // So that it can be installed from the address of a service alone.
    bundled: { '@countersign/sdk': 'sdk' },
    dependencies: CURVES,
    peers: ['fastify', 'hono', 'ioredis'],
  },
]
