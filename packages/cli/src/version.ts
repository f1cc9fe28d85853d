import manifest from '../package.json' with { type: 'json' }

/** The release, as package.json has it. */
export const VERSION: string = manifest.version

/** `User-Agent` of every request. */
export const USER_AGENT = `countersign/${VERSION}`
