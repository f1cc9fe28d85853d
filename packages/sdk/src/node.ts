/** For Node, Bun and Deno: functions that need files, environment variables or node:http. */
export {
  defaultKeyFile,
  type KeyFileOptions,
  keyFromEnvironment,
  keyFromFile,
  type WriteKeyFileOptions,
  writeKeyFile,
} from './node/key-file.ts'
export {
  type FastifyLikeReply,
  type FastifyLikeRequest,
  type NodeListener,
  nodeListener,
} from './node/node-listener.ts'
export {
  didOfKeyFile,
  type KeyFileOperation,
  type RecoveringKeyFile,
  type RotatedKeyFile,
  recoverKeyFile,
  rotateKeyFile,
} from './node/rotate-key-file.ts'
export { gcpToken, githubActionsToken, tokenFile } from './node/token-sources.ts'
