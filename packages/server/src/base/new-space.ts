import { setFlagsFromString } from 'node:v8'

/*
 * V8 doubles the space for new objects after collections that many of them survive, up to 64 MiB, and hardly ever makes it smaller
 * again. The modules of the service survive; nothing that a service at rest does needs so much. V8 reads this setting when it would
 * grow the space, and its command line does not take the value 1.
 */

/** From now on the space for new objects has the size that it has. */
export function holdNewSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** From now on it grows with the load: V8's default. */
export function releaseNewSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
