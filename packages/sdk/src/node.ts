/** What needs a file system, an environment or node:http: for Node, Bun and Deno. */
export {
  defaultKeyFile,
  type KeyFileOptions,
  keyFromEnvironment,
  keyFromFile,
  writeKeyFile,
} from './node/key-file.ts'
export { nodeListener } from './node/node-listener.ts'
