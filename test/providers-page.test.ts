import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fitSeconds, fitSize, type ModelCard, toCard } from '../src/core/catalog.ts'
import { type Member, providers } from '../src/providers/index.ts'

const members: [string, Member][] = Object.entries(providers)
const cards = members.flatMap(([, { cards }]) => cards)

it('each name is the name of one model, and each card can be met by its own defaults', () => {
  assert.deepEqual(
    cards.map(({ id }) => id),
    [...new Set(cards.map(({ id }) => id))],
  )
  for (const template of cards) {
    const card: ModelCard = toCard(template, [])
    assert.equal(fitSeconds(card, undefined), card.seconds.default)
    assert.ok(fitSize(card, {}), card.id)
    if ('shapes' in card.size && card.size.shapes)
      for (const [size, { resolution, ratio }] of Object.entries(card.size.shapes)) {
        const { width, height } = fitSize(card, { resolution, aspect_ratio: ratio })
        assert.equal(`${width}x${height}`, size, `${card.id}: two sizes have the same words`)
      }
  }
})

it('the parameters of a model are described, and none of them selects its provider or who pays', () => {
  for (const { id, description, parameters, facts } of cards) {
    assert.ok(description.length > 10, id)
    for (const [name, rule] of Object.entries(parameters)) {
      assert.ok(rule.description.length > 5, `${id}.${name}`)
      assert.doesNotMatch(name, /^(model|version|callback.*|webhook.*|base_url|endpoint|key|n|sample_?count)$/, id)
    }
    if (facts?.price) assert.match(facts.price.on, /^20\d\d-\d\d(-\d\d)?$/, id)
  }
})

it('a variable of a vendor belongs to one provider, and every provider on the network says where it is', () => {
  const variables = members.flatMap(([, { key }]) => key?.variable ?? [])
  assert.equal(new Set(variables).size, variables.length)
  for (const [name, { needsNothing, baseUrl, key }] of members)
    if (!needsNothing && name !== 'openai') assert.ok(baseUrl?.startsWith('https://') && key, name)
})
