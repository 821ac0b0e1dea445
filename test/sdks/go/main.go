// The official Go SDK. Endpoints first: what is made after that is told to them.
package main

func main() {
	register()
	checkModels()
	checkVideos()
	checkDerived()
	checkLists()
	checkWebhooks()
}
