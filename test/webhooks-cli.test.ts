import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runCli } from '../src/cli/cli.fixture.ts'
import { token } from './service.ts'
import { isDelivered, WebhookWorld } from './webhook-world.ts'

it('webhooks are set up, watched and replayed from the command line', async () => {
  await using world = await WebhookWorld.open()
  const env = { FILMGATE_BASE_URL: world.service.url, FILMGATE_TOKEN: token }
  const filmgate = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(['webhooks', ...args], { env, cwd: world.service.data })
    assert.equal(code, 0, stderr)
    return stdout
  }
  const secret = (await filmgate('add', `${world.receiver.url}/hook`, '--name', 'films')).trim()
  assert.match(secret, /^whsec_/)
  const id = /whe_\w+/.exec(await filmgate('list'))?.[0] ?? ''
  assert.match(await filmgate('show', id), /events +video\.completed, video\.failed\n/)
  assert.equal(await filmgate('test', id), 'video.completed: the endpoint responded with 200\n')
  await world.unwrap(world.receiver.all[0] ?? assert.fail('nothing came'), secret)

  const video = await world.fail()
  const [delivery] = await world.settle({ id }, 1, isDelivered)
  const listed = await filmgate('deliveries', id, '--state', 'delivered')
  assert.match(listed, new RegExp(`${delivery?.id} +delivered +video\\.failed .* 200 +.*${video}`))
  assert.equal(await filmgate('replay', id, delivery?.id ?? ''), `${delivery?.id} will be sent again\n`)
  await world.settle({ id }, 1, (one) => isDelivered(one) && one.tries.length === 2)

  world.receiver.handle = (_, response) => void response.writeHead(410).end()
  await world.fail()
  await world.settle({ id }, 2, ({ state }) => state !== 'pending')
  assert.match(await filmgate('list'), /disabled/)
  world.receiver.handle = (_, response) => void response.end()
  assert.equal(await filmgate('enable', id), `${id} is enabled\n`)
  assert.equal(await filmgate('replay', id, '--failed-since', '1h'), '1 failed delivery will be tried again\n')
  await world.settle({ id }, 2, isDelivered)
  assert.notEqual((await filmgate('rotate', id)).trim(), secret)
  assert.equal(await filmgate('remove', id), `removed ${id}\n`)
  assert.match(await filmgate('list', '--json'), /"data":\s*\[\]/)
})
