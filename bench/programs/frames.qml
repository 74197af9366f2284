// Draws as many frames as the last argument says, and ends: /usr/lib/qt6/bin/qml frames.qml -- 100
import QtQuick
import QtQuick.Window

Window {
    id: window
    width: 640
    height: 480
    visible: true
    property int frames: 0
    readonly property int wanted: parseInt(Qt.application.arguments[Qt.application.arguments.length - 1])
    onFrameSwapped: {
        frames++;
        if (frames >= wanted) Qt.quit();
        else window.update();
    }
    Rectangle {
        anchors.fill: parent
        gradient: Gradient {
            GradientStop { position: 0; color: "navy" }
            GradientStop { position: 1; color: "orange" }
        }
        Repeater {
            model: 40
            Rectangle {
                x: 20 + 60 * (index % 10); y: 60 + 90 * Math.floor(index / 10); width: 80; height: 80; radius: 20
                rotation: 30 * index + 3 * window.frames
                color: Qt.hsva(index / 40, 1, 1, 0.7)
                border { width: 3; color: "white" }
                Text { anchors.centerIn: parent; text: index; font.pixelSize: 30 }
            }
        }
    }
}
