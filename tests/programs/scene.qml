import QtQuick
import QtQuick.Window

Window {
    width: 320
    height: 240
    visible: true
    Rectangle {
        id: scene
        anchors.fill: parent
        gradient: Gradient {
            GradientStop { position: 0; color: "navy" }
            GradientStop { position: 1; color: "orange" }
        }
        Repeater {
            model: 12
            Rectangle {
                x: 20 + 22 * index; y: 100; width: 60; height: 60; radius: 20; rotation: 30 * index
                color: Qt.hsva(index / 12, 1, 1, 0.7)
            }
        }
    }
    Timer {
        interval: 500
        running: true
        onTriggered: scene.grabToImage(function(result) {
            result.saveToFile(Qt.application.arguments[Qt.application.arguments.length - 1]);
            Qt.quit();
        })
    }
}
